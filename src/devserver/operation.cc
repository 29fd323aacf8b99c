#include "devserver/operation.h"

#include <algorithm>
#include <array>

#include "base/macros.h"
#include "devserver/errors.h"
#include "devserver/text.h"

namespace headrace::devserver {
namespace {

constexpr std::array<std::string_view, kOperationCount> kNames = {"GetObject",
                                                                  "HeadObject",
                                                                  "PutObject",
                                                                  "CopyObject",
                                                                  "DeleteObject",
                                                                  "DeleteObjects",
                                                                  "ListObjects",
                                                                  "ListObjectsV2",
                                                                  "ListBuckets",
                                                                  "CreateBucket",
                                                                  "DeleteBucket",
                                                                  "HeadBucket",
                                                                  "GetBucketLocation",
                                                                  "GetBucketVersioning",
                                                                  "CreateMultipartUpload",
                                                                  "UploadPart",
                                                                  "UploadPartCopy",
                                                                  "CompleteMultipartUpload",
                                                                  "AbortMultipartUpload",
                                                                  "ListParts",
                                                                  "ListMultipartUploads",
                                                                  "GetObjectTagging",
                                                                  "PutObjectTagging",
                                                                  "DeleteObjectTagging",
                                                                  "Admin",
                                                                  "Unknown"};

// Sub-resources that S3 has and this server has not: to ignore them would turn, say, a PUT of an
// ACL into a PUT of an object.
constexpr std::string_view kUnsupported[] = {"acl",
                                             "accelerate",
                                             "analytics",
                                             "attributes",
                                             "cors",
                                             "encryption",
                                             "intelligent-tiering",
                                             "inventory",
                                             "legal-hold",
                                             "lifecycle",
                                             "logging",
                                             "metrics",
                                             "notification",
                                             "object-lock",
                                             "ownershipControls",
                                             "policy",
                                             "policyStatus",
                                             "publicAccessBlock",
                                             "replication",
                                             "requestPayment",
                                             "restore",
                                             "retention",
                                             "select",
                                             "session",
                                             "torrent",
                                             "versionId",
                                             "versions",
                                             "website"};

// Headers, likewise: an object "locked" or encrypted with a key that nobody looked at, an append
// that would replace.
constexpr std::string_view kUnsupportedHeaders[] = {
    "x-amz-copy-source-server-side-encryption-customer-algorithm",
    "x-amz-object-lock-legal-hold",
    "x-amz-object-lock-mode",
    "x-amz-object-lock-retain-until-date",
    "x-amz-server-side-encryption-customer-algorithm",
    "x-amz-write-offset-bytes"};

std::string_view BucketOfHost(std::string_view host, const std::vector<std::string>& domains) {
  host = host.substr(0, host.find(':'));
  for (const std::string& domain : domains) {
    if (host.size() > domain.size() + 1 && host.ends_with(domain) &&
        host[host.size() - domain.size() - 1] == '.') {
      return host.substr(0, host.size() - domain.size() - 1);
    }
  }
  return {};
}

Operation ObjectOperation(const RequestHead& head, const QueryParams& query) {
  std::string_view method = head.method();
  const bool upload = query.Has("uploadId");
  const bool tagging = query.Has("tagging");
  if (method == "GET") {
    if (upload) return Operation::kListParts;
    return tagging ? Operation::kGetObjectTagging : Operation::kGetObject;
  }
  if (method == "HEAD") return Operation::kHeadObject;
  if (method == "PUT") {
    const bool copy = head.HasHeader("x-amz-copy-source");
    if (upload) return copy ? Operation::kUploadPartCopy : Operation::kUploadPart;
    if (tagging) return Operation::kPutObjectTagging;
    return copy ? Operation::kCopyObject : Operation::kPutObject;
  }
  if (method == "POST") {
    if (query.Has("uploads")) return Operation::kCreateMultipartUpload;
    if (upload) return Operation::kCompleteMultipartUpload;
  }
  if (method == "DELETE") {
    if (upload) return Operation::kAbortMultipartUpload;
    return tagging ? Operation::kDeleteObjectTagging : Operation::kDeleteObject;
  }
  return Operation::kUnknown;
}

Operation BucketOperation(const RequestHead& head, const QueryParams& query) {
  std::string_view method = head.method();
  if (query.Has("tagging")) return Operation::kUnknown;
  if (method == "GET") {
    if (query.Has("location")) return Operation::kGetBucketLocation;
    if (query.Has("versioning")) return Operation::kGetBucketVersioning;
    if (query.Has("uploads")) return Operation::kListMultipartUploads;
    return query.Get("list-type") == "2" ? Operation::kListObjectsV2 : Operation::kListObjects;
  }
  if (query.Has("versioning")) return Operation::kUnknown;
  if (method == "HEAD") return Operation::kHeadBucket;
  if (method == "PUT") return Operation::kCreateBucket;
  if (method == "DELETE") return Operation::kDeleteBucket;
  if (method == "POST" && query.Has("delete")) return Operation::kDeleteObjects;
  return Operation::kUnknown;
}

}  // namespace

std::string_view OperationName(Operation op) { return kNames.at(static_cast<std::size_t>(op)); }

std::optional<Operation> ParseOperation(std::string_view name) {
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    if (EqualsIgnoreCase(name, kNames.at(i))) return static_cast<Operation>(i);
  }
  return std::nullopt;
}

bool IsRead(Operation op) { return op == Operation::kGetObject || op == Operation::kHeadObject; }

bool IsList(Operation op) {
  return op == Operation::kListObjects || op == Operation::kListObjectsV2;
}

bool IsWrite(Operation op) {
  switch (op) {
    case Operation::kPutObject:
    case Operation::kCopyObject:
    case Operation::kDeleteObject:
    case Operation::kCreateMultipartUpload:
    case Operation::kUploadPart:
    case Operation::kUploadPartCopy:
    case Operation::kCompleteMultipartUpload:
    case Operation::kAbortMultipartUpload:
      return true;
    default:
      return false;
  }
}

bool IsValidBucketName(std::string_view name) {
  if (name.size() < 3 || name.size() > 63) return false;
  auto alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (!alnum(name.front()) || !alnum(name.back())) return false;
  return name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return alnum(c) || c == '-' || c == '.'; });
}

Status FindRoute(const RequestHead& head, const QueryParams& query,
                 const std::vector<std::string>& domains, Route* route) {
  std::string_view path = head.path();
  route->bucket = std::string(BucketOfHost(head.Header("host"), domains));
  if (route->bucket.empty() && path.starts_with("/_headrace/")) {
    route->op = Operation::kAdmin;
    route->key = std::string(path.substr(11));
    return Status();
  }
  auto decoded = UriDecode(path, false);
  if (!decoded) return S3Error("InvalidURI");
  std::string_view rest = std::string_view(*decoded).substr(1);
  if (route->bucket.empty()) {
    std::size_t slash = rest.find('/');
    route->bucket = std::string(rest.substr(0, slash));
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
  route->key = std::string(rest);
  if (route->bucket.empty()) {
    if (!route->key.empty()) return S3Error("InvalidBucketName");
    if (head.method() != "GET" && head.method() != "HEAD") return S3Error("MethodNotAllowed");
    route->op = Operation::kListBuckets;
    return Status();
  }
  route->op = route->key.empty() ? BucketOperation(head, query) : ObjectOperation(head, query);
  if (route->key.size() > 1024) return S3Error("KeyTooLongError");
  if (!IsValidUtf8(route->key)) return S3Error("InvalidURI", "The key is not valid UTF-8.");
  for (std::string_view name : kUnsupported) {
    if (!query.Has(name)) continue;
    route->op = Operation::kUnknown;
    return S3Error("NotImplemented", "The sub-resource is not implemented: " + std::string(name));
  }
  for (std::string_view name : kUnsupportedHeaders) {
    if (!head.HasHeader(name)) continue;
    route->op = Operation::kUnknown;
    return S3Error("NotImplemented", "The header is not implemented: " + std::string(name));
  }
  if (route->op == Operation::kUnknown) return S3Error("MethodNotAllowed");
  return Status();
}

}  // namespace headrace::devserver
