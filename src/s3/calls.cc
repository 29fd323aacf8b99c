#include "s3/calls.h"

#include <cctype>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <set>

#include <pugixml.hpp>

#include "base/macros.h"
#include "s3/etag.h"
#include "s3/sign.h"
#include "s3/time_text.h"
#include "s3/uri.h"

namespace headrace::s3 {
namespace {

constexpr std::string_view kMetadataPrefix = "x-amz-meta-";

S3Request Make(Operation operation, std::string bucket, std::string key,
               std::vector<QueryParam> query = {}) {
  S3Request request;
  request.operation = operation;
  request.bucket = std::move(bucket);
  request.key = std::move(key);
  if (!query.empty()) request.query = CanonicalQuery(query);
  return request;
}

std::string ContentMd5(std::string_view body) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(body.data(), body.size(), digest, &size, EVP_md5(), nullptr);
  return Base64Encode({reinterpret_cast<const std::byte*>(digest), size});
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Header names compare without case, so that of two such names one would be lost.
Status CheckMetadata(const std::map<std::string, std::string>& metadata) {
  std::set<std::string> names;
  for (const auto& [name, value] : metadata) {
    if (names.insert(Lower(name)).second) continue;
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("metadata names '{}' twice: S3 does not tell capitals from small "
                              "letters",
                              Lower(name)));
  }
  return {};
}

// What a new object is to carry beside its bytes.
Status AddObjectHeaders(const PutOptions& options, S3Request& request) {
  RETURN_IF_ERROR(CheckMetadata(options.metadata));
  auto& headers = request.headers;
  if (!options.content_type.empty()) headers.emplace_back("Content-Type", options.content_type);
  if (!options.storage_class.empty()) {
    headers.emplace_back("x-amz-storage-class", options.storage_class);
  }
  for (const auto& [name, value] : options.metadata) {
    headers.emplace_back(std::string(kMetadataPrefix) + name, value);
  }
  if (!options.tags.empty()) {
    std::vector<QueryParam> tags;
    for (const auto& [name, value] : options.tags) tags.push_back({name, value});
    headers.emplace_back("x-amz-tagging", CanonicalQuery(tags));
  }
  if (!options.server_side_encryption.empty()) {
    headers.emplace_back("x-amz-server-side-encryption", options.server_side_encryption);
  }
  if (!options.kms_key_id.empty()) {
    headers.emplace_back("x-amz-server-side-encryption-aws-kms-key-id", options.kms_key_id);
  }
  return {};
}

Checksum ChecksumOf(ChecksumAlgorithm algorithm, const Buffer& data) {
  Checksum checksum(algorithm);
  checksum.Extend(data.span());
  return checksum;
}

void AddChecksum(const Checksum& checksum, S3Request& request) {
  if (checksum.algorithm() == ChecksumAlgorithm::kNone) return;
  request.headers.emplace_back(ChecksumHeader(checksum.algorithm()), checksum.ToHeader());
}

std::string CopySource(std::string_view bucket, std::string_view key) {
  return fmt::format("/{}/{}", bucket, EncodePath(key));
}

void AddCopySource(std::string_view bucket, std::string_view key, std::string_view etag,
                   S3Request& request) {
  request.headers.emplace_back("x-amz-copy-source", CopySource(bucket, key));
  if (!etag.empty()) {
    request.headers.emplace_back("x-amz-copy-source-if-match", QuotedEtag(etag));
  }
}

}  // namespace

Result<ChecksumAlgorithm> ParseChecksumName(std::string_view name) {
  if (name.empty() || name == "crc32c" || name == "CRC32C") return ChecksumAlgorithm::kCrc32c;
  if (name == "crc64nvme" || name == "CRC64NVME") return ChecksumAlgorithm::kCrc64Nvme;
  if (name == "crc32" || name == "CRC32") return ChecksumAlgorithm::kCrc32;
  if (name == "none") return ChecksumAlgorithm::kNone;
  return Status(
      StatusCode::kInvalidArgument,
      fmt::format("unknown checksum algorithm '{}': use crc32c, crc64nvme, crc32 or none", name));
}

S3Request HeadObject(std::string bucket, std::string key) {
  return Make(Operation::kHead, std::move(bucket), std::move(key));
}

ObjectInfo InfoFromHeaders(const net::Headers& headers) {
  ObjectInfo info;
  info.etag = BareEtag(headers.Get("ETag"));
  info.last_modified = ParseHttpDate(headers.Get("Last-Modified")).value_or(WallTime{});
  info.storage_class = headers.Get("x-amz-storage-class");
  info.content_type = headers.Get("Content-Type");
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const auto [name, value] = headers[i];
    if (name.size() < kMetadataPrefix.size()) continue;
    const std::string lower = Lower(name.substr(0, kMetadataPrefix.size()));
    if (lower != kMetadataPrefix) continue;
    info.metadata.emplace(Lower(name.substr(kMetadataPrefix.size())), value);
  }
  return info;
}

Checksum WholeObjectChecksum(const net::Headers& headers) {
  const std::string_view type = headers.Get("x-amz-checksum-type");
  for (const ChecksumAlgorithm algorithm : kChecksumAlgorithms) {
    const std::string_view value = headers.Get(ChecksumHeader(algorithm));
    if (value.empty()) continue;
    Result<StoredChecksum> stored = ParseStoredChecksum(algorithm, value, type);
    if (stored.ok() && stored->full_object) return stored->checksum;
  }
  return Checksum(ChecksumAlgorithm::kNone);
}

Result<ObjectInfo> ReadHead(const S3Request& request, const S3Reply& reply) {
  ObjectInfo info = InfoFromHeaders(reply.headers);
  info.bucket = request.bucket;
  info.key = request.key;
  if (!reply.object_size) {
    return Status(StatusCode::kProtocol, fmt::format("the server did not tell the size of {}",
                                                     FormatUri(request.bucket, request.key)));
  }
  info.size = *reply.object_size;
  return info;
}

S3Request ListObjects(const ListArguments& a) {
  const std::string max_keys = std::to_string(a.max_keys);
  std::vector<QueryParam> query = {{"list-type", "2"}, {"encoding-type", "url"}};
  if (a.max_keys != 1000) query.push_back({"max-keys", max_keys});
  if (!a.prefix.empty()) query.push_back({"prefix", a.prefix});
  if (!a.delimiter.empty()) query.push_back({"delimiter", a.delimiter});
  if (!a.token.empty()) {
    query.push_back({"continuation-token", a.token});
  } else if (!a.start_after.empty()) {
    query.push_back({"start-after", a.start_after});
  }
  return Make(Operation::kList, std::string(a.bucket), "", std::move(query));
}

Result<S3Request> PutObject(std::string bucket, std::string key, Buffer data,
                            const PutOptions& options) {
  ASSIGN_OR_RETURN(const ChecksumAlgorithm algorithm,
                   ParseChecksumName(options.checksum_algorithm));
  S3Request request = Make(Operation::kPut, std::move(bucket), std::move(key));
  RETURN_IF_ERROR(AddObjectHeaders(options, request));
  if (options.if_none_match) request.headers.emplace_back("If-None-Match", "*");
  AddChecksum(ChecksumOf(algorithm, data), request);
  request.body = std::move(data);
  return request;
}

std::string ReadEtag(const S3Reply& reply) {
  return std::string(BareEtag(reply.headers.Get("ETag")));
}

Result<S3Request> CreateUpload(std::string bucket, std::string key, const PutOptions& options) {
  ASSIGN_OR_RETURN(const ChecksumAlgorithm algorithm,
                   ParseChecksumName(options.checksum_algorithm));
  S3Request request =
      Make(Operation::kCreateUpload, std::move(bucket), std::move(key), {{"uploads", ""}});
  RETURN_IF_ERROR(AddObjectHeaders(options, request));
  if (algorithm != ChecksumAlgorithm::kNone) {
    request.headers.emplace_back("x-amz-checksum-algorithm", ChecksumName(algorithm));
    // Of the whole rather than of the parts' checksums: a reader can verify that without knowing
    // the parts.
    request.headers.emplace_back("x-amz-checksum-type", "FULL_OBJECT");
  }
  return request;
}

S3Request UploadPart(std::string bucket, std::string key, std::string_view upload_id, int number,
                     Buffer data, ChecksumAlgorithm algorithm, Checksum* checksum) {
  const std::string part = std::to_string(number);
  S3Request request = Make(Operation::kUploadPart, std::move(bucket), std::move(key),
                           {{"partNumber", part}, {"uploadId", upload_id}});
  *checksum = ChecksumOf(algorithm, data);
  AddChecksum(*checksum, request);
  request.body = std::move(data);
  return request;
}

S3Request CompleteUpload(std::string bucket, std::string key, std::string_view upload_id,
                         const std::vector<CompletedPart>& parts, bool if_none_match) {
  S3Request request = Make(Operation::kCompleteUpload, std::move(bucket), std::move(key),
                           {{"uploadId", upload_id}});
  request.headers.emplace_back("Content-Type", "application/xml");
  if (if_none_match) request.headers.emplace_back("If-None-Match", "*");
  request.body = Buffer::FromString(BuildCompleteMultipartUpload(parts));
  return request;
}

S3Request AbortUpload(std::string bucket, std::string key, std::string_view upload_id) {
  return Make(Operation::kAbortUpload, std::move(bucket), std::move(key),
              {{"uploadId", upload_id}});
}

S3Request DeleteObject(std::string bucket, std::string key) {
  return Make(Operation::kDelete, std::move(bucket), std::move(key));
}

S3Request DeleteObjects(std::string bucket, const std::vector<std::string_view>& keys) {
  S3Request request = Make(Operation::kDeleteBatch, std::move(bucket), "", {{"delete", ""}});
  request.body = Buffer::FromString(BuildDelete(keys));
  request.headers.emplace_back("Content-MD5", ContentMd5(request.body.view()));
  request.headers.emplace_back("Content-Type", "application/xml");
  return request;
}

Result<S3Request> CopyObject(std::string_view source_bucket, std::string_view source_key,
                             std::string_view source_etag, std::string bucket, std::string key,
                             const PutOptions& options) {
  S3Request request = Make(Operation::kCopy, std::move(bucket), std::move(key));
  AddCopySource(source_bucket, source_key, source_etag, request);
  const bool replace = !options.metadata.empty() || !options.content_type.empty();
  if (replace) request.headers.emplace_back("x-amz-metadata-directive", "REPLACE");
  if (!options.tags.empty()) request.headers.emplace_back("x-amz-tagging-directive", "REPLACE");
  if (options.if_none_match) request.headers.emplace_back("If-None-Match", "*");
  RETURN_IF_ERROR(AddObjectHeaders(options, request));
  return request;
}

S3Request CopyPart(std::string_view source_bucket, std::string_view source_key,
                   S3Request::Range range, std::string_view source_etag, std::string bucket,
                   std::string key, std::string_view upload_id, int number) {
  const std::string part = std::to_string(number);
  S3Request request = Make(Operation::kCopyPart, std::move(bucket), std::move(key),
                           {{"partNumber", part}, {"uploadId", upload_id}});
  AddCopySource(source_bucket, source_key, source_etag, request);
  request.headers.emplace_back(
      "x-amz-copy-source-range",
      fmt::format("bytes={}-{}", range.offset, range.offset + range.length - 1));
  return request;
}

S3Request GetTags(std::string bucket, std::string key) {
  return Make(Operation::kGetTags, std::move(bucket), std::move(key), {{"tagging", ""}});
}

S3Request CreateBucket(std::string bucket, std::string_view region) {
  S3Request request = Make(Operation::kCreateBucket, std::move(bucket), "");
  request.body = Buffer::FromString(BuildCreateBucket(region));
  return request;
}

S3Request DeleteBucket(std::string bucket) {
  return Make(Operation::kDeleteBucket, std::move(bucket), "");
}

S3Request ListBuckets() { return Make(Operation::kListBuckets, "", ""); }

}  // namespace headrace::s3
