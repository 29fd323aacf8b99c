#include "devserver/store.h"

#include <chrono>
#include <mutex>

#include <nlohmann/json.hpp>

#include "base/macros.h"
#include "devserver/errors.h"
#include "devserver/record.h"

namespace headrace::devserver {
namespace {

constexpr std::size_t kMaxCompleted = 10000;

nlohmann::json PutRecord(const std::string& bucket, const std::string& key,
                         const ObjectMeta& meta) {
  return {{"op", "put"}, {"b", bucket}, {"k", EncodeText(key)}, {"meta", MetaToJson(meta)}};
}

Status ReadOnly() {
  return S3Error("MethodNotAllowed", "This bucket is a virtual listing and cannot be changed.");
}

}  // namespace

std::int64_t NowMs() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class Store::ObjectCursor final : public KeyCursor {
 public:
  explicit ObjectCursor(const Objects& objects) : objects_(objects), at_(objects.end()) {}
  void Seek(std::string_view at_least) override { at_ = objects_.lower_bound(at_least); }
  void Next() override { ++at_; }
  bool Valid() const override { return at_ != objects_.end(); }
  std::string_view Key() const override { return at_->first; }
  ListedObject Object() const override {
    const ObjectMeta& meta = *at_->second;
    return {at_->first,
            meta.etag,
            meta.size,
            meta.modified_ms,
            meta.storage_class,
            meta.checksum ? ChecksumName(meta.checksum->algorithm) : std::string_view()};
  }

 private:
  const Objects& objects_;
  Objects::const_iterator at_;
};

Result<Store::Bucket*> Store::MutableBucket(std::string_view bucket) {
  auto found = buckets_.find(bucket);
  if (found != buckets_.end()) return &found->second;
  if (virtual_buckets_.contains(bucket)) return ReadOnly();
  return S3Error("NoSuchBucket");
}

Status Store::CreateBucket(const std::string& bucket) {
  std::unique_lock lock(mutex_);
  if (buckets_.contains(bucket) || virtual_buckets_.contains(bucket)) {
    return S3Error("BucketAlreadyOwnedByYou");
  }
  std::int64_t now = NowMs();
  RETURN_IF_ERROR(journal_->Append({{"op", "bucket"}, {"b", bucket}, {"m", now}}));
  buckets_[bucket].created_ms = now;
  return Status();
}

Status Store::DeleteBucket(const std::string& bucket) {
  std::unique_lock lock(mutex_);
  ASSIGN_OR_RETURN(Bucket * found, MutableBucket(bucket));
  if (!found->objects.empty()) return S3Error("BucketNotEmpty");
  RETURN_IF_ERROR(journal_->Append({{"op", "rmbucket"}, {"b", bucket}}));
  std::erase_if(uploads_, [&](const auto& entry) { return entry.second.bucket == bucket; });
  buckets_.erase(bucket);
  return Status();
}

Result<BucketInfo> Store::FindBucket(std::string_view bucket) const {
  std::shared_lock lock(mutex_);
  auto found = buckets_.find(bucket);
  if (found != buckets_.end()) return BucketInfo{found->first, found->second.created_ms};
  if (virtual_buckets_.contains(bucket)) return BucketInfo{std::string(bucket), 0};
  return S3Error("NoSuchBucket");
}

std::vector<BucketInfo> Store::ListBuckets() const {
  std::shared_lock lock(mutex_);
  std::map<std::string, std::int64_t> all;
  for (const auto& [name, bucket] : buckets_) all[name] = bucket.created_ms;
  for (const auto& [name, bucket] : virtual_buckets_) all[name] = 0;
  std::vector<BucketInfo> out;
  for (const auto& [name, created_ms] : all) out.push_back({name, created_ms});
  return out;
}

Result<std::shared_ptr<const ObjectMeta>> Store::Find(std::string_view bucket,
                                                      std::string_view key) const {
  std::shared_lock lock(mutex_);
  auto found = buckets_.find(bucket);
  if (found != buckets_.end()) {
    auto object = found->second.objects.find(key);
    if (object == found->second.objects.end()) return S3Error("NoSuchKey");
    return object->second;
  }
  auto generated = virtual_buckets_.find(bucket);
  if (generated == virtual_buckets_.end()) return S3Error("NoSuchBucket");
  auto meta = generated->second->Find(key);
  if (meta == nullptr) return S3Error("NoSuchKey");
  return meta;
}

Status Store::CheckCondition(const Bucket& bucket, std::string_view key,
                             const WriteCondition& condition) const {
  auto found = bucket.objects.find(key);
  if (condition.if_absent && found != bucket.objects.end()) return S3Error("PreconditionFailed");
  if (!condition.if_match.empty()) {
    if (found == bucket.objects.end()) return S3Error("NoSuchKey");
    if (condition.if_match != "*" && found->second->etag != condition.if_match) {
      return S3Error("PreconditionFailed");
    }
  }
  return Status();
}

Status Store::Put(const std::string& bucket, const std::string& key, ObjectMeta meta,
                  const WriteCondition& condition) {
  nlohmann::json record = PutRecord(bucket, key, meta);
  std::shared_ptr<const ObjectMeta> replaced;  // its files are unlinked after the lock is released
  auto stored = std::make_shared<const ObjectMeta>(std::move(meta));
  std::unique_lock lock(mutex_);
  ASSIGN_OR_RETURN(Bucket * found, MutableBucket(bucket));
  RETURN_IF_ERROR(CheckCondition(*found, key, condition));
  RETURN_IF_ERROR(journal_->Append(record));
  auto& slot = found->objects[key];
  replaced = std::move(slot);
  slot = std::move(stored);
  return Status();
}

Status Store::Delete(const std::string& bucket, const std::string& key) {
  std::shared_ptr<const ObjectMeta> removed;
  std::unique_lock lock(mutex_);
  ASSIGN_OR_RETURN(Bucket * found, MutableBucket(bucket));
  auto object = found->objects.find(key);
  if (object == found->objects.end()) return Status();
  RETURN_IF_ERROR(journal_->Append({{"op", "del"}, {"b", bucket}, {"k", EncodeText(key)}}));
  removed = std::move(object->second);
  found->objects.erase(object);
  return Status();
}

Status Store::SetTags(const std::string& bucket, const std::string& key, std::string tags) {
  std::unique_lock lock(mutex_);
  ASSIGN_OR_RETURN(Bucket * found, MutableBucket(bucket));
  auto object = found->objects.find(key);
  if (object == found->objects.end()) return S3Error("NoSuchKey");
  auto changed = std::make_shared<ObjectMeta>(*object->second);
  changed->tags = std::move(tags);
  RETURN_IF_ERROR(journal_->Append(PutRecord(bucket, key, *changed)));
  object->second = std::move(changed);
  return Status();
}

Result<ListPage> Store::List(std::string_view bucket, const ListQuery& query) const {
  std::shared_lock lock(mutex_);
  auto found = buckets_.find(bucket);
  if (found != buckets_.end()) {
    ObjectCursor cursor(found->second.objects);
    return MakeListPage(cursor, query);
  }
  auto generated = virtual_buckets_.find(bucket);
  if (generated == virtual_buckets_.end()) return S3Error("NoSuchBucket");
  auto cursor = generated->second->NewCursor();
  return MakeListPage(*cursor, query);
}

Status Store::StartUpload(Upload upload) {
  std::unique_lock lock(mutex_);
  RETURN_IF_ERROR(MutableBucket(upload.bucket).status());
  nlohmann::json record = {{"op", "upload"}, {"u", UploadToJson(upload)}};
  RETURN_IF_ERROR(journal_->Append(record));
  std::string id = upload.id;
  uploads_.emplace(std::move(id), std::move(upload));
  return Status();
}

Status Store::PutPart(const std::string& upload_id, int number, Part part) {
  Part replaced;
  std::unique_lock lock(mutex_);
  auto found = uploads_.find(upload_id);
  if (found == uploads_.end()) return S3Error("NoSuchUpload");
  RETURN_IF_ERROR(journal_->Append(
      {{"op", "part"}, {"id", upload_id}, {"no", number}, {"p", PartToJson(part)}}));
  Part& slot = found->second.parts[number];
  replaced = std::move(slot);
  slot = std::move(part);
  return Status();
}

Result<Upload> Store::FindUpload(std::string_view bucket, std::string_view key,
                                 std::string_view upload_id) const {
  std::shared_lock lock(mutex_);
  if (!buckets_.contains(bucket)) return S3Error("NoSuchBucket");
  auto found = uploads_.find(upload_id);
  if (found == uploads_.end() || found->second.bucket != bucket || found->second.key != key) {
    return S3Error("NoSuchUpload");
  }
  return found->second;
}

Status Store::AbortUpload(const std::string& upload_id) {
  Upload removed;
  std::unique_lock lock(mutex_);
  auto found = uploads_.find(upload_id);
  if (found == uploads_.end()) return S3Error("NoSuchUpload");
  RETURN_IF_ERROR(journal_->Append({{"op", "abort"}, {"id", upload_id}}));
  removed = std::move(found->second);
  uploads_.erase(found);
  return Status();
}

Status Store::CompleteUpload(const std::string& upload_id, ObjectMeta meta,
                             const WriteCondition& condition) {
  Upload removed;
  std::shared_ptr<const ObjectMeta> replaced;
  std::unique_lock lock(mutex_);
  auto upload = uploads_.find(upload_id);
  if (upload == uploads_.end()) return S3Error("NoSuchUpload");
  ASSIGN_OR_RETURN(Bucket * bucket, MutableBucket(upload->second.bucket));
  RETURN_IF_ERROR(CheckCondition(*bucket, upload->second.key, condition));
  meta.upload_id = upload_id;
  RETURN_IF_ERROR(journal_->Append(PutRecord(upload->second.bucket, upload->second.key, meta)));
  auto stored = std::make_shared<const ObjectMeta>(std::move(meta));
  auto& slot = bucket->objects[upload->second.key];
  replaced = std::move(slot);
  slot = stored;
  removed = std::move(upload->second);
  uploads_.erase(upload);
  RememberCompleted(std::move(stored));
  return Status();
}

// The answer needs the ETag and checksum alone: remembering the files would keep them on disk.
void Store::RememberCompleted(std::shared_ptr<const ObjectMeta> meta) {
  auto answer = std::make_shared<ObjectMeta>(*meta);
  answer->segments.clear();
  completed_order_.push_back(meta->upload_id);
  completed_[meta->upload_id] = std::move(answer);
  if (completed_order_.size() > kMaxCompleted) {
    completed_.erase(completed_order_.front());
    completed_order_.erase(completed_order_.begin());
  }
}

std::shared_ptr<const ObjectMeta> Store::FindCompleted(std::string_view upload_id) const {
  std::shared_lock lock(mutex_);
  auto found = completed_.find(upload_id);
  return found == completed_.end() ? nullptr : found->second;
}

std::vector<Upload> Store::ListUploads(std::string_view bucket, std::string_view prefix) const {
  std::shared_lock lock(mutex_);
  std::vector<Upload> out;
  for (const auto& [id, upload] : uploads_) {
    if (upload.bucket != bucket || !upload.key.starts_with(prefix)) continue;
    Upload summary = upload;
    summary.parts.clear();
    out.push_back(std::move(summary));
  }
  return out;
}

Result<std::unique_ptr<DataFileWriter>> Store::NewFile() { return folder_.NewFile(); }

Result<std::vector<FileSlice>> Store::Slices(const ObjectMeta& meta, std::uint64_t offset,
                                             std::uint64_t size) {
  std::vector<FileSlice> slices;
  if (meta.generated_at) {
    std::uint64_t at = (*meta.generated_at + offset) % kPoolBytes;
    while (size > 0) {
      std::uint64_t n = std::min(size, kPoolBytes - at);
      slices.push_back({pool_, at, n});
      size -= n;
      at = 0;
    }
    return slices;
  }
  for (const Segment& segment : meta.segments) {
    if (size == 0) break;
    if (offset >= segment.size) {
      offset -= segment.size;
      continue;
    }
    std::uint64_t n = std::min(size, segment.size - offset);
    ASSIGN_OR_RETURN(auto file, folder_.Open(*segment.file));
    slices.push_back({std::move(file), segment.offset + offset, n});
    size -= n;
    offset = 0;
  }
  return slices;
}

}  // namespace headrace::devserver
