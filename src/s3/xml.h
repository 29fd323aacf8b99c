// The XML documents of the S3 protocol other than list pages (list_page.h): errors, multipart
// uploads, copies, batch deletes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/status.h"
#include "s3/checksum.h"
#include "s3/error.h"

namespace headrace::s3 {

// Fills code, message, request id, region and endpoint from an <Error> document, also when it
// stands inside an answer of 200 (CompleteMultipartUpload, CopyObject) or inside an <ErrorResponse>
// (STS). Returns false, and changes nothing, when `body` is anything else. Read an answer's body
// with this before reading it as what was hoped for.
bool ParseErrorDocument(std::string_view body, ServerAnswer* answer);

// The object's size in an <Error> of code InvalidRange; nullopt where there is none.
std::optional<std::uint64_t> ParseActualObjectSize(std::string_view body);

// The readers below fail with kProtocol, saying what is wrong, for anything but a whole document of
// the right kind with the fields that the caller cannot do without.

// The upload id.
Result<std::string> ParseInitiateMultipartUpload(std::string_view body);

// CompleteMultipartUploadResult; CopyObjectResult and CopyPartResult: the ETag without quotes, ""
// when the server sent none.
Result<std::string> ParseCompleteMultipartUpload(std::string_view body);
Result<std::string> ParseCopyResult(std::string_view body);

// Tagging and ListAllMyBucketsResult.
Result<std::map<std::string, std::string>> ParseTagging(std::string_view body);
Result<std::vector<std::string>> ParseBuckets(std::string_view body);

struct DeleteFailure {
  std::string key;
  std::string code;
  std::string message;
};
// The keys that were not deleted; those that were are not asked for (Quiet).
Result<std::vector<DeleteFailure>> ParseDeleteResult(std::string_view body);

struct CompletedPart {
  int number = 0;  // from 1
  std::string etag;
  Checksum checksum{ChecksumAlgorithm::kNone};
};
std::string BuildCompleteMultipartUpload(std::span<const CompletedPart> parts);

// Whether a key survives a batch delete's XML. Control characters, bytes that are not UTF-8 and
// blanks at either end do not, on some server or other; delete such a key with a request of its
// own.
bool XmlCanCarry(std::string_view key);

// REQUIRES: at most 1,000 keys, XmlCanCarry() each.
std::string BuildDelete(std::span<const std::string_view> keys);

// "" for us-east-1, whose buckets are made without a body.
std::string BuildCreateBucket(std::string_view region);

}  // namespace headrace::s3
