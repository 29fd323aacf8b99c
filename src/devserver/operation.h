// Which S3 operation a request is, on what bucket and key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "devserver/http_request.h"
#include "headrace/status.h"

namespace headrace::devserver {

enum class Operation : std::uint8_t {
  kGetObject,
  kHeadObject,
  kPutObject,
  kCopyObject,
  kDeleteObject,
  kDeleteObjects,
  kListObjects,
  kListObjectsV2,
  kListBuckets,
  kCreateBucket,
  kDeleteBucket,
  kHeadBucket,
  kGetBucketLocation,
  kGetBucketVersioning,
  kCreateMultipartUpload,
  kUploadPart,
  kUploadPartCopy,
  kCompleteMultipartUpload,
  kAbortMultipartUpload,
  kListParts,
  kListMultipartUploads,
  kGetObjectTagging,
  kPutObjectTagging,
  kDeleteObjectTagging,
  kAdmin,    // /_headrace/…
  kUnknown,  // anything else, answered with an error
};
inline constexpr std::size_t kOperationCount = static_cast<std::size_t>(Operation::kUnknown) + 1;

std::string_view OperationName(Operation op);  // "GetObject"
std::optional<Operation> ParseOperation(std::string_view name);
bool IsRead(Operation op);   // counts against the GET rate
bool IsWrite(Operation op);  // counts against the PUT rate
bool IsList(Operation op);

struct Route {
  Operation op = Operation::kUnknown;
  std::string bucket;
  std::string key;
};

// `domains` are the names below which a bucket may be a host name: bucket.localhost. A host that is
// such a name itself, an IP address or anything else is path style.
// Errors: InvalidURI, KeyTooLongError, InvalidBucketName, NotImplemented, MethodNotAllowed; the
// route's op is then the closest that is known.
Status FindRoute(const RequestHead& head, const QueryParams& query,
                 const std::vector<std::string>& domains, Route* route);

// S3's rules for names of buckets.
bool IsValidBucketName(std::string_view name);

}  // namespace headrace::devserver
