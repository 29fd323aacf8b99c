// s3:// addresses, and the two percent-encodings of the S3 protocol.
//
// A URI is a bucket plus a literal key: nothing in it is decoded, and `?` and `#` are letters of
// the key like any other. So every key can be written, and a printed URI can be pasted back.
#pragma once

#include <string>
#include <string_view>

#include "headrace/status.h"

namespace headrace::s3 {

struct ObjectUri {
  std::string bucket;
  std::string key;  // opaque bytes; empty for a whole bucket

  bool operator==(const ObjectUri&) const = default;
};

// Parses "s3://bucket" or "s3://bucket/key". Fails with kInvalidArgument, naming what is wrong.
Result<ObjectUri> ParseUri(std::string_view uri);

// "s3://bucket/key", or "s3://bucket" when the key is empty. ParseUri() gives the same pair back.
std::string FormatUri(std::string_view bucket, std::string_view key);

// kInvalidArgument unless `bucket` can name a bucket somewhere. The rules are those for existing
// buckets (old ones hold capitals and underscores); a server may demand more of new ones.
Status ValidateBucketName(std::string_view bucket);

// Percent-encoding as SigV4 and S3 want it: A-Z a-z 0-9 - . _ ~ are kept, all other bytes become
// %XX with capital digits. In paths '/' is kept too.
void AppendEncodedPath(std::string& out, std::string_view bytes);
void AppendEncodedQuery(std::string& out, std::string_view bytes);
std::string EncodePath(std::string_view bytes);
std::string EncodeQuery(std::string_view bytes);

// Decodes a name from a list answer asked for with encoding-type=url, in place, and returns its new
// length. '+' means a space (SeaweedFS writes that, others %20; a real plus is %2B everywhere).
// A '%' without two hex digits after it stands for itself: some servers forget to encode it.
std::size_t DecodeListedInPlace(char* text, std::size_t size);

}  // namespace headrace::s3
