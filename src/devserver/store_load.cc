// Opening and closing a store: replaying the journal, dropping what no record refers to.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <sys/file.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/macros.h"
#include "devserver/record.h"
#include "devserver/store.h"

namespace headrace::devserver {
namespace {

// The folder belongs to the server: refuses one that holds anything else, before it is touched.
// Without a journal there may be what a start that was cut off leaves.
Status CheckFolder(const std::string& folder, const std::string& journal) {
  std::error_code error;
  if (std::filesystem::exists(journal, error)) {
    if (Journal::MayBeOurs(journal)) return {};
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("{} is no journal of this server; give an empty or new folder", journal));
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name == "lock" || name == "journal.new") continue;
    if (name == "data" && std::filesystem::is_empty(entry.path(), error)) continue;
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} holds files that are no store of this server (\"{}\"); give an "
                              "empty or new folder, and put files in with `headrace cp`",
                              folder, name));
  }
  return {};
}

}  // namespace

Store::Store(const Options& options)
    : options_(options), folder_(options.dir + "/data", options.max_open_files) {}

Result<std::unique_ptr<Store>> Store::Open(const Options& options) {
  std::unique_ptr<Store> store(new Store(options));
  Status loaded = store->Load();
  if (!loaded.ok()) return loaded;
  return store;
}

Store::~Store() {
  folder_.BeginClose();
  if (lock_fd_ >= 0) close(lock_fd_);
}

Status Store::Load() {
  std::error_code error;
  std::filesystem::create_directories(options_.dir, error);
  if (error) {
    return Status(StatusCode::kIo, fmt::format("the server's folder cannot be used: making {}: {}",
                                               options_.dir, error.message()));
  }
  std::string journal_path = options_.dir + "/journal";
  RETURN_IF_ERROR(CheckFolder(options_.dir, journal_path));
  std::string lock_path = options_.dir + "/lock";
  lock_fd_ = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_fd_ < 0) {
    return Status(StatusCode::kIo, fmt::format("the server's folder cannot be used: opening {}: {}",
                                               lock_path, std::strerror(errno)));
  }
  if (flock(lock_fd_, LOCK_EX | LOCK_NB) != 0) {
    return Status(
        StatusCode::kIo,
        fmt::format("{} is in use by another server; give each its own folder", options_.dir));
  }
  RETURN_IF_ERROR(folder_.Create());
  if (!options_.virtual_file.empty()) {
    ASSIGN_OR_RETURN(virtual_buckets_, ReadVirtualFile(options_.virtual_file));
    ASSIGN_OR_RETURN(pool_, MakeGeneratedPool());
  }
  folder_.BeginClose();  // what the replay lets go of is removed as an orphan below
  ASSIGN_OR_RETURN(journal_, Journal::Open(journal_path, [this](const nlohmann::json& record) {
                     return Replay(record);
                   }));
  RETURN_IF_ERROR(RemoveOrphans());
  loading_.clear();
  folder_.EndClose();
  std::size_t live = LiveRecords();
  if (journal_->records() > 1000 && journal_->records() > 2 * live) return WriteSnapshot();
  return Status();
}

std::shared_ptr<DataFile> Store::Resolve(std::uint64_t id) {
  std::weak_ptr<DataFile>& known = loading_[id];
  if (auto file = known.lock()) return file;
  auto file = folder_.Adopt(id);
  known = file;
  return file;
}

Status Store::Replay(const nlohmann::json& record) try {
  FileResolver resolve = [this](std::uint64_t id) { return Resolve(id); };
  std::string op = record.at("op");
  if (op == "bucket") {
    buckets_[record.at("b")].created_ms = record.at("m");
  } else if (op == "rmbucket") {
    std::string bucket = record.at("b");
    std::erase_if(uploads_, [&](const auto& entry) { return entry.second.bucket == bucket; });
    buckets_.erase(bucket);
  } else if (op == "put") {
    auto meta = std::make_shared<const ObjectMeta>(MetaFromJson(record.at("meta"), resolve));
    if (!meta->upload_id.empty()) {
      uploads_.erase(meta->upload_id);
      RememberCompleted(meta);
    }
    buckets_[record.at("b")].objects[DecodeText(record.at("k"))] = std::move(meta);
  } else if (op == "del") {
    buckets_[record.at("b")].objects.erase(DecodeText(record.at("k")));
  } else if (op == "upload") {
    Upload upload = UploadFromJson(record.at("u"), resolve);
    std::string id = upload.id;
    uploads_[id] = std::move(upload);
  } else if (op == "part") {
    auto found = uploads_.find(record.at("id").get<std::string>());
    if (found != uploads_.end()) {
      found->second.parts[record.at("no")] = PartFromJson(record.at("p"), resolve);
    }
  } else if (op == "abort") {
    uploads_.erase(record.at("id").get<std::string>());
  } else {
    return Status(StatusCode::kIo, fmt::format("unknown operation \"{}\"", op));
  }
  return Status();
} catch (const nlohmann::json::exception& error) {
  return Status(StatusCode::kIo, error.what());
}

Status Store::RemoveOrphans() {
  ASSIGN_OR_RETURN(std::vector<std::uint64_t> present, folder_.ListIds());
  std::uint64_t largest = 0;
  for (std::uint64_t id : present) {
    largest = std::max(largest, id);
    auto known = loading_.find(id);
    if (known == loading_.end() || known->second.expired()) folder_.Remove(id);
  }
  for (const auto& [id, file] : loading_) largest = std::max(largest, id);
  folder_.set_next_id(largest + 1);
  return Status();
}

std::size_t Store::LiveRecords() const {
  std::size_t live = buckets_.size();
  for (const auto& [name, bucket] : buckets_) live += bucket.objects.size();
  for (const auto& [id, upload] : uploads_) live += 1 + upload.parts.size();
  return live;
}

Status Store::WriteSnapshot() {
  return journal_->Rewrite([this](const std::function<Status(const nlohmann::json&)>& write) {
    for (const auto& [name, bucket] : buckets_) {
      RETURN_IF_ERROR(write({{"op", "bucket"}, {"b", name}, {"m", bucket.created_ms}}));
      for (const auto& [key, meta] : bucket.objects) {
        RETURN_IF_ERROR(write(
            {{"op", "put"}, {"b", name}, {"k", EncodeText(key)}, {"meta", MetaToJson(*meta)}}));
      }
    }
    for (const auto& [id, upload] : uploads_) {
      RETURN_IF_ERROR(write({{"op", "upload"}, {"u", UploadToJson(upload)}}));
      for (const auto& [number, part] : upload.parts) {
        RETURN_IF_ERROR(
            write({{"op", "part"}, {"id", id}, {"no", number}, {"p", PartToJson(part)}}));
      }
    }
    return Status();
  });
}

}  // namespace headrace::devserver
