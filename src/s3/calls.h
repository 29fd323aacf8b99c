// Each S3 call as a request to build and an answer to read: pure functions around the engine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/object_info.h"
#include "headrace/options.h"
#include "headrace/status.h"
#include "s3/checksum.h"
#include "s3/list_page.h"
#include "s3/request.h"
#include "s3/xml.h"

namespace headrace::s3 {

// "crc32c" (also for ""), "crc64nvme", "none". kInvalidArgument for another.
Result<ChecksumAlgorithm> ParseChecksumName(std::string_view name);

S3Request HeadObject(std::string bucket, std::string key);
Result<ObjectInfo> ReadHead(const S3Request& request, const S3Reply& reply);
// ETag, time, type and metadata as they stand in the headers of a GET or HEAD.
ObjectInfo InfoFromHeaders(const net::Headers& headers);
// The checksum that was stored with the object as a whole, of a kind that we can compute; kNone
// where there is none. Services tell it when `verify_checksum` asked for it.
Checksum WholeObjectChecksum(const net::Headers& headers);

struct ListArguments {
  std::string_view bucket;
  std::string_view prefix;
  std::string_view delimiter;
  std::string_view start_after;
  std::string_view token;
  int max_keys = 1000;
};
S3Request ListObjects(const ListArguments& arguments);

Result<S3Request> PutObject(std::string bucket, std::string key, Buffer data,
                            const PutOptions& options);
// The bare ETag.
std::string ReadEtag(const S3Reply& reply);

Result<S3Request> CreateUpload(std::string bucket, std::string key, const PutOptions& options);
S3Request UploadPart(std::string bucket, std::string key, std::string_view upload_id, int number,
                     Buffer data, ChecksumAlgorithm algorithm, Checksum* checksum);
S3Request CompleteUpload(std::string bucket, std::string key, std::string_view upload_id,
                         const std::vector<CompletedPart>& parts, bool if_none_match);
S3Request AbortUpload(std::string bucket, std::string key, std::string_view upload_id);

S3Request DeleteObject(std::string bucket, std::string key);
// REQUIRES: at most 1,000 keys, each of which XML can carry.
S3Request DeleteObjects(std::string bucket, const std::vector<std::string_view>& keys);

// `source_etag`, bare: this version or an error; "": whatever is there.
Result<S3Request> CopyObject(std::string_view source_bucket, std::string_view source_key,
                             std::string_view source_etag, std::string bucket, std::string key,
                             const PutOptions& options);
S3Request CopyPart(std::string_view source_bucket, std::string_view source_key,
                   S3Request::Range range, std::string_view source_etag, std::string bucket,
                   std::string key, std::string_view upload_id, int number);

S3Request GetTags(std::string bucket, std::string key);

S3Request CreateBucket(std::string bucket, std::string_view region);
S3Request DeleteBucket(std::string bucket);
S3Request ListBuckets();

}  // namespace headrace::s3
