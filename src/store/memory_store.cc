#include "store/memory_store.h"

#include <cstring>
#include <fmt/format.h>
#include <map>
#include <mutex>

#include "s3/uri.h"

namespace headrace::store {
namespace {

struct Stored {
  Buffer data;
  std::string etag;
  std::chrono::system_clock::time_point modified;
  PutOptions options;
};

struct Uploading {
  Name name;
  PutOptions options;
  std::map<int, Buffer> parts;
};

template <typename T>
Pending<T> Now(Result<T> result) {
  return Pending<T>::Ready(std::move(result));
}

class MemoryStore final : public Store {
 public:
  Capabilities capabilities() const override { return {}; }

  Pending<ReadReply> Read(ReadRequest request) override {
    std::lock_guard lock(mu_);
    Result<Stored*> found = Find(request.name);
    if (!found.ok()) return Now<ReadReply>(found.status());
    const Stored& object = **found;
    if (!request.etag.empty() && request.etag != object.etag) {
      return Now<ReadReply>(
          Status(StatusCode::kObjectChanged, fmt::format("{} was replaced", Where(request.name))));
    }
    ReadReply reply{.object_size = object.data.size(),
                    .etag = object.etag,
                    .last_modified = object.modified,
                    .content_type = object.options.content_type,
                    .metadata = object.options.metadata};
    const std::uint64_t size = object.data.size();
    const std::uint64_t offset = request.range ? std::min(request.range->offset, size) : 0;
    const std::uint64_t wanted = request.range ? request.range->length : request.keep_at_most;
    reply.received = std::min(wanted, size - offset);
    if (!request.into.empty()) {
      reply.received = std::min<std::uint64_t>(reply.received, request.into.size());
      if (reply.received > 0) {
        std::memcpy(request.into.data(), object.data.data() + offset, reply.received);
      }
    } else {
      reply.data = object.data.Slice(offset, reply.received);
    }
    return Now<ReadReply>(std::move(reply));
  }

  Pending<ObjectInfo> Stat(const Name& name) override {
    std::lock_guard lock(mu_);
    Result<Stored*> found = Find(name);
    if (!found.ok()) return Now<ObjectInfo>(found.status());
    const Stored& object = **found;
    return Now<ObjectInfo>(ObjectInfo{.bucket = name.bucket,
                                      .key = name.key,
                                      .size = object.data.size(),
                                      .etag = object.etag,
                                      .last_modified = object.modified,
                                      .storage_class = object.options.storage_class,
                                      .content_type = object.options.content_type,
                                      .metadata = object.options.metadata});
  }

  Pending<std::map<std::string, std::string>> TagsOf(const Name& name) override {
    std::lock_guard lock(mu_);
    Result<Stored*> found = Find(name);
    if (!found.ok()) return Now<std::map<std::string, std::string>>(found.status());
    return Now<std::map<std::string, std::string>>((*found)->options.tags);
  }

  Pending<s3::ListPage> List(const ListRequest& request) override {
    std::lock_guard lock(mu_);
    const auto bucket = buckets_.find(request.bucket);
    if (bucket == buckets_.end()) return Now<s3::ListPage>(NoBucket(request.bucket));
    s3::ListPage page;
    const std::string after = request.token.empty() ? request.start_after : request.token;
    auto it = bucket->second.lower_bound(std::max(after, request.prefix));
    while (it != bucket->second.end() && it->first.starts_with(request.prefix)) {
      const auto& [key, object] = *it;
      if (!after.empty() && key <= after) {
        ++it;
        continue;
      }
      const std::size_t slash =
          request.delimited ? key.find('/', request.prefix.size()) : std::string::npos;
      const std::string common = slash == std::string::npos ? "" : key.substr(0, slash + 1);
      // A common prefix that was given on an earlier page is passed over with all below it.
      if (!common.empty() && !after.empty() && after.starts_with(common)) {
        ++it;
        continue;
      }
      if (static_cast<int>(page.objects.size() + page.common_prefixes.size()) == request.max_keys) {
        page.truncated = true;
        break;
      }
      if (!common.empty()) {
        page.common_prefixes.push_back(page.pieced_together.emplace_back(common));
        page.next_token = common;
        std::string beyond = common;  // the first name that does not start with it
        beyond.back() = '/' + 1;
        it = bucket->second.lower_bound(beyond);
        continue;
      }
      page.objects.push_back(
          {.key = page.pieced_together.emplace_back(key),
           .etag = page.pieced_together.emplace_back(object.etag),
           .storage_class = page.pieced_together.emplace_back(object.options.storage_class),
           .size = object.data.size(),
           .last_modified_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   object.modified.time_since_epoch())
                                   .count()});
      page.next_token = key;
      ++it;
    }
    if (!page.truncated) page.next_token.clear();
    return Now<s3::ListPage>(std::move(page));
  }

  Pending<WriteReply> Put(const Name& name, Buffer data, const PutOptions& options) override {
    std::lock_guard lock(mu_);
    return Now<WriteReply>(Publish(name, data, options));
  }

  Pending<Upload> CreateUpload(const Name& name, const PutOptions& options) override {
    std::lock_guard lock(mu_);
    if (!buckets_.contains(name.bucket)) return Now<Upload>(NoBucket(name.bucket));
    const std::string id = std::to_string(++last_id_);
    uploads_[id] = {.name = name, .options = options, .parts = {}};
    return Now<Upload>(Upload{.name = name, .id = id});
  }

  Pending<Part> UploadPart(const Upload& upload, int number, Buffer data) override {
    std::lock_guard lock(mu_);
    const auto it = uploads_.find(upload.id);
    if (it == uploads_.end()) return Now<Part>(NoUpload(upload));
    const std::uint64_t size = data.size();
    it->second.parts[number] = Copied(data);
    return Now<Part>(Part{.number = number, .etag = std::to_string(number), .size = size});
  }

  Pending<WriteReply> CompleteUpload(const Upload& upload,
                                     const std::vector<Part>& parts) override {
    std::lock_guard lock(mu_);
    const auto it = uploads_.find(upload.id);
    if (it == uploads_.end()) return Now<WriteReply>(NoUpload(upload));
    std::string whole;
    for (const Part& part : parts) {
      const auto data = it->second.parts.find(part.number);
      if (data == it->second.parts.end()) {
        return Now<WriteReply>(
            Status(StatusCode::kInvalidArgument, fmt::format("part {} is missing", part.number)));
      }
      whole += data->second.view();
    }
    Uploading done = std::move(it->second);
    uploads_.erase(it);
    return Now<WriteReply>(Publish(done.name, Buffer::FromString(std::move(whole)), done.options));
  }

  Pending<Nothing> AbortUpload(const Upload& upload) override {
    std::lock_guard lock(mu_);
    uploads_.erase(upload.id);
    return Now<Nothing>(Nothing{});
  }

  Pending<Nothing> Delete(const Name& name) override {
    std::lock_guard lock(mu_);
    const auto bucket = buckets_.find(name.bucket);
    if (bucket == buckets_.end()) return Now<Nothing>(NoBucket(name.bucket));
    bucket->second.erase(name.key);
    return Now<Nothing>(Nothing{});
  }

  Pending<std::vector<Status>> DeleteMany(const std::string& bucket,
                                          const std::vector<std::string>& keys) override {
    std::lock_guard lock(mu_);
    const auto it = buckets_.find(bucket);
    if (it == buckets_.end()) return Now<std::vector<Status>>(NoBucket(bucket));
    for (const std::string& key : keys) it->second.erase(key);
    return Now<std::vector<Status>>(std::vector<Status>(keys.size()));
  }

  Pending<WriteReply> Copy(const Name& source, const Name& target, const PutOptions& options,
                           const std::string& source_etag) override {
    std::lock_guard lock(mu_);
    Result<Stored*> found = Find(source);
    if (!found.ok()) return Now<WriteReply>(found.status());
    const Stored object = **found;
    if (!source_etag.empty() && object.etag != source_etag) {
      return Now<WriteReply>(Status(StatusCode::kObjectChanged, source.key + " was replaced"));
    }
    PutOptions kept = options;
    if (options.metadata.empty() && options.content_type.empty()) {
      kept.metadata = object.options.metadata;
      kept.content_type = object.options.content_type;
    }
    if (options.tags.empty()) kept.tags = object.options.tags;
    return Now<WriteReply>(Publish(target, object.data, kept));
  }

  Pending<Part> CopyPart(const Upload& upload, int number, const Name& source,
                         ReadRequest::Range range, const std::string& source_etag) override {
    ReadRequest request{.name = source, .range = range, .etag = source_etag};
    Result<ReadReply> piece = Read(std::move(request)).Wait();
    if (!piece.ok()) return Now<Part>(piece.status());
    return UploadPart(upload, number, piece->data);
  }

  Pending<Nothing> CreateBucket(const std::string& bucket) override {
    std::lock_guard lock(mu_);
    buckets_.try_emplace(bucket);
    return Now<Nothing>(Nothing{});
  }

  Pending<Nothing> DeleteBucket(const std::string& bucket) override {
    std::lock_guard lock(mu_);
    const auto it = buckets_.find(bucket);
    if (it == buckets_.end()) return Now<Nothing>(NoBucket(bucket));
    if (!it->second.empty()) {
      return Now<Nothing>(Status(StatusCode::kAlreadyExists,
                                 fmt::format("bucket {} is not empty", bucket),
                                 {.http_status = 409, .s3_code = "BucketNotEmpty"}));
    }
    buckets_.erase(it);
    return Now<Nothing>(Nothing{});
  }

  Pending<std::vector<std::string>> ListBuckets() override {
    std::lock_guard lock(mu_);
    std::vector<std::string> names;
    for (const auto& [name, objects] : buckets_) names.push_back(name);
    return Now<std::vector<std::string>>(std::move(names));
  }

 private:
  static std::string Where(const Name& name) {
    return fmt::format("memory://{}/{}", name.bucket, name.key);
  }
  static Status NoBucket(const std::string& bucket) {
    return Status(StatusCode::kNotFound, fmt::format("no such bucket: memory://{}", bucket),
                  {.s3_code = "NoSuchBucket", .bucket = bucket});
  }
  static Status NoUpload(const Upload& upload) {
    return Status(StatusCode::kNotFound, fmt::format("no such upload of {}", Where(upload.name)),
                  {.s3_code = "NoSuchUpload"});
  }
  // The caller may fill its buffer anew.
  static Buffer Copied(const Buffer& data) { return Buffer::FromString(std::string(data.view())); }

  // REQUIRES: mu_ held, for all below.
  Result<Stored*> Find(const Name& name) {
    const auto bucket = buckets_.find(name.bucket);
    if (bucket == buckets_.end()) return NoBucket(name.bucket);
    const auto object = bucket->second.find(name.key);
    if (object == bucket->second.end()) {
      return Status(StatusCode::kNotFound, fmt::format("no such key: {}", Where(name)),
                    {.s3_code = "NoSuchKey", .bucket = name.bucket, .key = name.key});
    }
    return &object->second;
  }

  Result<WriteReply> Publish(const Name& name, const Buffer& data, const PutOptions& options) {
    const auto bucket = buckets_.find(name.bucket);
    if (bucket == buckets_.end()) return NoBucket(name.bucket);
    if (options.if_none_match && bucket->second.contains(name.key)) {
      return Status(StatusCode::kAlreadyExists, fmt::format("{} exists already", Where(name)));
    }
    std::string etag = fmt::format("{:016x}", ++last_id_);
    bucket->second[name.key] = {.data = Copied(data),
                                .etag = etag,
                                .modified = std::chrono::system_clock::now(),
                                .options = options};
    return WriteReply{.etag = std::move(etag)};
  }

  std::mutex mu_;
  std::map<std::string, std::map<std::string, Stored>> buckets_;  // guarded by mu_
  std::map<std::string, Uploading> uploads_;                      // guarded by mu_; by id
  std::uint64_t last_id_ = 0;                                     // guarded by mu_
};

}  // namespace

std::unique_ptr<Store> MakeMemoryStore() { return std::make_unique<MemoryStore>(); }

}  // namespace headrace::store
