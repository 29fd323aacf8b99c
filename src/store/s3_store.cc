#include "store/s3_store.h"

#include <fmt/format.h>
#include <unordered_map>
#include <unordered_set>

#include "base/macros.h"
#include "s3/calls.h"
#include "s3/etag.h"
#include "s3/uri.h"

namespace headrace::store {
namespace {

using s3::S3Reply;
using s3::S3Request;

template <typename T>
Pending<T> Failed(Status status) {
  return Pending<T>::Ready(std::move(status));
}

Pending<Nothing> ToNothing(Pending<S3Reply> reply) {
  return Map<Nothing>(std::move(reply), [](Result<S3Reply> r) -> Result<Nothing> {
    RETURN_IF_ERROR(r.status());
    return Nothing{};
  });
}

// The error of one key of a batch delete.
Status ToStatus(const std::string& bucket, const s3::DeleteFailure& failure) {
  s3::ServerAnswer answer;
  answer.http_status = failure.code == "AccessDenied" ? 403 : 500;
  answer.code = failure.code;
  answer.message = failure.message;
  return s3::ToStatus(answer, {.action = "delete", .bucket = bucket, .key = failure.key});
}

Result<ReadReply> ToReadReply(Result<S3Reply> r) {
  RETURN_IF_ERROR(r.status());
  if (!r->object_size && (r->cut_short || r->status == 206)) {
    return Status(StatusCode::kProtocol,
                  "the server sent a part of an object without telling its size");
  }
  ObjectInfo info = s3::InfoFromHeaders(r->headers);
  ReadReply reply;
  reply.object_size = r->object_size.value_or(r->received);
  reply.received = r->received;
  reply.data = std::move(r->body);
  reply.etag = std::move(info.etag);
  reply.verified = r->verified;
  reply.last_modified = info.last_modified;
  reply.content_type = std::move(info.content_type);
  reply.metadata = std::move(info.metadata);
  return reply;
}

}  // namespace

std::vector<Status> DeleteStatuses(const std::string& bucket, const std::vector<std::string>& keys,
                                   const std::vector<s3::DeleteFailure>& failures) {
  const std::unordered_set<std::string_view> asked(keys.begin(), keys.end());
  std::unordered_map<std::string_view, Status> of_key;
  Status of_others;
  for (const s3::DeleteFailure& failure : failures) {
    const Status status = ToStatus(bucket, failure);
    if (asked.contains(failure.key)) {
      of_key.emplace(failure.key, status);
    } else if (of_others.ok()) {
      of_others = status.WithContext("a failure of a key that was not asked for");
    }
  }
  std::vector<Status> statuses;
  statuses.reserve(keys.size());
  for (const std::string& key : keys) {
    const auto failed = of_key.find(key);
    statuses.push_back(failed != of_key.end() ? failed->second : of_others);
  }
  return statuses;
}

Capabilities S3Store::capabilities() const {
  // Not every service lists in bytewise order, and none says so.
  return {.bytewise_order = true, .min_part_size = min_part_size_};
}

Pending<ReadReply> S3Store::Read(ReadRequest request) {
  S3Request get;
  get.operation = s3::Operation::kGet;
  get.bucket = std::move(request.name.bucket);
  get.key = std::move(request.name.key);
  if (request.range) get.range = S3Request::Range{request.range->offset, request.range->length};
  get.etag = std::string(s3::BareEtag(request.etag));
  get.into = request.into;
  get.keep_at_most = request.keep_at_most;
  get.verify_checksum = request.verify && !request.range;
  return Map<ReadReply>(engine_.Submit(std::move(get)), ToReadReply);
}

Pending<ObjectInfo> S3Store::Stat(const Name& name) {
  S3Request request = s3::HeadObject(name.bucket, name.key);
  S3Request names;
  names.bucket = name.bucket;
  names.key = name.key;
  return Map<ObjectInfo>(engine_.Submit(std::move(request)),
                         [names = std::move(names)](Result<S3Reply> r) -> Result<ObjectInfo> {
                           RETURN_IF_ERROR(r.status());
                           return s3::ReadHead(names, *r);
                         });
}

Pending<StoredChecksum> S3Store::ChecksumOf(const Name& name) {
  S3Request request = s3::HeadObject(name.bucket, name.key);
  request.verify_checksum = true;
  return Map<StoredChecksum>(
      engine_.Submit(std::move(request)), [](Result<S3Reply> r) -> Result<StoredChecksum> {
        RETURN_IF_ERROR(r.status());
        return StoredChecksum{s3::WholeObjectChecksum(r->headers), s3::ReadEtag(*r)};
      });
}

Pending<std::map<std::string, std::string>> S3Store::TagsOf(const Name& name) {
  using Tags = std::map<std::string, std::string>;
  return Map<Tags>(engine_.Submit(s3::GetTags(name.bucket, name.key)),
                   [](Result<S3Reply> r) -> Result<Tags> {
                     // A service that knows no tags has none.
                     const bool none = r.status().code() == StatusCode::kUnsupported ||
                                       r.status().info().s3_code == "NoSuchTagSet";
                     if (none) return Tags();
                     RETURN_IF_ERROR(r.status());
                     return s3::ParseTagging(r->body.view());
                   });
}

Pending<s3::ListPage> S3Store::List(const ListRequest& request) {
  return Map<s3::ListPage>(
      engine_.Submit(s3::ListObjects({.bucket = request.bucket,
                                      .prefix = request.prefix,
                                      .delimiter = request.delimited ? "/" : "",
                                      .start_after = request.start_after,
                                      .token = request.token,
                                      .max_keys = request.max_keys})),
      [where = s3::FormatUri(request.bucket, request.prefix)](
          Result<S3Reply> r) -> Result<s3::ListPage> {
        RETURN_IF_ERROR(r.status());
        Result<s3::ListPage> page = s3::ParseListPage(r->body.view());
        if (!page.ok()) return page.status().WithContext("listing " + where);
        return page;
      });
}

Pending<WriteReply> S3Store::Put(const Name& name, Buffer data, const PutOptions& options) {
  Result<S3Request> request = s3::PutObject(name.bucket, name.key, std::move(data), options);
  if (!request.ok()) return Failed<WriteReply>(request.status());
  return Map<WriteReply>(engine_.Submit(std::move(*request)),
                         [](Result<S3Reply> r) -> Result<WriteReply> {
                           RETURN_IF_ERROR(r.status());
                           return WriteReply{.etag = s3::ReadEtag(*r)};
                         });
}

Pending<Upload> S3Store::CreateUpload(const Name& name, const PutOptions& options) {
  Result<S3Request> request = s3::CreateUpload(name.bucket, name.key, options);
  if (!request.ok()) return Failed<Upload>(request.status());
  return Map<Upload>(engine_.Submit(std::move(*request)),
                     [name, algorithm = options.checksum_algorithm,
                      only_new = options.if_none_match](Result<S3Reply> r) -> Result<Upload> {
                       RETURN_IF_ERROR(r.status());
                       ASSIGN_OR_RETURN(std::string id,
                                        s3::ParseInitiateMultipartUpload(r->body.view()));
                       return Upload{name, std::move(id), algorithm, only_new};
                     });
}

Pending<Part> S3Store::UploadPart(const Upload& upload, int number, Buffer data) {
  const Result<s3::ChecksumAlgorithm> algorithm = s3::ParseChecksumName(upload.checksum_algorithm);
  if (!algorithm.ok()) return Failed<Part>(algorithm.status());
  const std::uint64_t size = data.size();
  s3::Checksum checksum(s3::ChecksumAlgorithm::kNone);
  S3Request request = s3::UploadPart(upload.name.bucket, upload.name.key, upload.id, number,
                                     std::move(data), *algorithm, &checksum);
  return Map<Part>(
      engine_.Submit(std::move(request)),
      [number, size, text = checksum.ToHeader(),
       where =
           s3::FormatUri(upload.name.bucket, upload.name.key)](Result<S3Reply> r) -> Result<Part> {
        if (!r.ok()) {
          return r.status().WithContext(fmt::format("uploading part {} of {}", number, where));
        }
        return Part{number, s3::ReadEtag(*r), text, size};
      });
}

Pending<WriteReply> S3Store::CompleteUpload(const Upload& upload, const std::vector<Part>& parts) {
  const Result<s3::ChecksumAlgorithm> algorithm = s3::ParseChecksumName(upload.checksum_algorithm);
  if (!algorithm.ok()) return Failed<WriteReply>(algorithm.status());
  std::vector<s3::CompletedPart> completed;
  for (const Part& part : parts) {
    s3::CompletedPart c;
    c.number = part.number;
    c.etag = part.etag;
    if (!part.checksum.empty()) {
      Result<s3::StoredChecksum> stored = s3::ParseStoredChecksum(*algorithm, part.checksum, "");
      if (stored.ok()) c.checksum = stored->checksum;
    }
    completed.push_back(std::move(c));
  }
  return Map<WriteReply>(
      engine_.Submit(s3::CompleteUpload(upload.name.bucket, upload.name.key, upload.id, completed,
                                        upload.if_none_match)),
      [](Result<S3Reply> r) -> Result<WriteReply> {
        RETURN_IF_ERROR(r.status());
        ASSIGN_OR_RETURN(std::string etag, s3::ParseCompleteMultipartUpload(r->body.view()));
        return WriteReply{.etag = std::move(etag)};
      });
}

Pending<Nothing> S3Store::AbortUpload(const Upload& upload) {
  return ToNothing(engine_.Submit(s3::AbortUpload(upload.name.bucket, upload.name.key, upload.id)));
}

Pending<Nothing> S3Store::Delete(const Name& name) {
  return ToNothing(engine_.Submit(s3::DeleteObject(name.bucket, name.key)));
}

Pending<std::vector<Status>> S3Store::DeleteMany(const std::string& bucket,
                                                 const std::vector<std::string>& keys) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  return Map<std::vector<Status>>(engine_.Submit(s3::DeleteObjects(bucket, views)),
                                  [bucket, keys](Result<S3Reply> r) -> Result<std::vector<Status>> {
                                    RETURN_IF_ERROR(r.status());
                                    ASSIGN_OR_RETURN(const std::vector<s3::DeleteFailure> failures,
                                                     s3::ParseDeleteResult(r->body.view()));
                                    return DeleteStatuses(bucket, keys, failures);
                                  });
}

Pending<WriteReply> S3Store::Copy(const Name& source, const Name& target, const PutOptions& options,
                                  const std::string& source_etag) {
  Result<S3Request> request =
      s3::CopyObject(source.bucket, source.key, source_etag, target.bucket, target.key, options);
  if (!request.ok()) return Failed<WriteReply>(request.status());
  return Map<WriteReply>(engine_.Submit(std::move(*request)),
                         [](Result<S3Reply> r) -> Result<WriteReply> {
                           RETURN_IF_ERROR(r.status());
                           ASSIGN_OR_RETURN(std::string etag, s3::ParseCopyResult(r->body.view()));
                           return WriteReply{.etag = std::move(etag)};
                         });
}

Pending<Part> S3Store::CopyPart(const Upload& upload, int number, const Name& source,
                                ReadRequest::Range range, const std::string& source_etag) {
  return Map<Part>(engine_.Submit(s3::CopyPart(
                       source.bucket, source.key, {range.offset, range.length}, source_etag,
                       upload.name.bucket, upload.name.key, upload.id, number)),
                   [number, size = range.length](Result<S3Reply> r) -> Result<Part> {
                     RETURN_IF_ERROR(r.status());
                     ASSIGN_OR_RETURN(std::string etag, s3::ParseCopyResult(r->body.view()));
                     return Part{number, std::move(etag), "", size};
                   });
}

Pending<Nothing> S3Store::CreateBucket(const std::string& bucket) {
  return ToNothing(
      engine_.Submit(s3::CreateBucket(bucket, engine_.endpoints().EndpointOf(bucket)->region)));
}

Pending<Nothing> S3Store::DeleteBucket(const std::string& bucket) {
  return ToNothing(engine_.Submit(s3::DeleteBucket(bucket)));
}

Pending<std::vector<std::string>> S3Store::ListBuckets() {
  return Map<std::vector<std::string>>(engine_.Submit(s3::ListBuckets()),
                                       [](Result<S3Reply> r) -> Result<std::vector<std::string>> {
                                         RETURN_IF_ERROR(r.status());
                                         return s3::ParseBuckets(r->body.view());
                                       });
}

}  // namespace headrace::store
