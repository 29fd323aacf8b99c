#include "devserver/data_file.h"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_io.h"
#include "base/macros.h"

namespace headrace::devserver {
namespace {

constexpr std::uint64_t kFilesPerSubfolder = 4096;

}  // namespace

OpenFile::~OpenFile() { close(fd_); }

DataFile::~DataFile() {
  if (!folder_->closing_) folder_->Remove(id_);
}

DataFileWriter::~DataFileWriter() {
  if (fd_ >= 0) close(fd_);
}

Status DataFileWriter::Write(std::string_view data) {
  size_ += data.size();
  return WriteAll(fd_, std::as_bytes(std::span(data)), "writing a data file of the server's store");
}

std::shared_ptr<DataFile> DataFileWriter::Finish() {
  close(fd_);
  fd_ = -1;
  return std::move(file_);
}

DataFolder::DataFolder(std::string path, std::size_t max_open_files)
    : path_(std::move(path)), max_open_files_(max_open_files) {}

std::string DataFolder::SubfolderOf(std::uint64_t id) const {
  return fmt::format("{}/{:08x}", path_, id / kFilesPerSubfolder);
}

std::string DataFolder::PathOf(std::uint64_t id) const {
  return fmt::format("{}/{:016x}", SubfolderOf(id), id);
}

Status DataFolder::Create() {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) {
    return Status(StatusCode::kIo, fmt::format("creating {}: {}", path_, error.message()));
  }
  return Status();
}

Result<std::vector<std::uint64_t>> DataFolder::ListIds() const {
  std::vector<std::uint64_t> ids;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entries(path_, error);
  if (error) return Status(StatusCode::kIo, fmt::format("reading {}: {}", path_, error.message()));
  for (const auto& entry : entries) {
    if (entries.depth() != 1) continue;
    std::string name = entry.path().filename().string();
    std::uint64_t id = 0;
    auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), id, 16);
    if (failed == std::errc() && end == name.data() + name.size()) ids.push_back(id);
  }
  return ids;
}

Result<std::unique_ptr<DataFileWriter>> DataFolder::NewFile() {
  std::uint64_t id = next_id_.fetch_add(1);
  std::string path = PathOf(id);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  int fd = open(path.c_str(), kFlags, 0600);
  if (fd < 0 && errno == ENOENT) {
    mkdir(SubfolderOf(id).c_str(), 0700);  // another thread may have been first
    fd = open(path.c_str(), kFlags, 0600);
  }
  if (fd < 0) return ErrnoStatus(errno, "creating", path);
  return std::make_unique<DataFileWriter>(Adopt(id), fd);
}

std::shared_ptr<DataFile> DataFolder::Adopt(std::uint64_t id) {
  return std::make_shared<DataFile>(this, id);
}

Result<std::shared_ptr<const OpenFile>> DataFolder::Open(const DataFile& file) {
  {
    std::lock_guard lock(mutex_);
    auto found = open_.find(file.id());
    if (found != open_.end()) {
      recency_.splice(recency_.begin(), recency_, found->second.recency);
      return found->second.file;
    }
  }
  std::string path = PathOf(file.id());
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "opening", path);
  auto opened = std::make_shared<const OpenFile>(fd);
  std::shared_ptr<const OpenFile> evicted;  // closed after the lock is released
  std::lock_guard lock(mutex_);
  auto found = open_.find(file.id());
  if (found != open_.end()) return found->second.file;
  recency_.push_front(file.id());
  open_.emplace(file.id(), Cached{opened, recency_.begin()});
  if (open_.size() > max_open_files_) {
    auto oldest = open_.find(recency_.back());
    evicted = std::move(oldest->second.file);
    open_.erase(oldest);
    recency_.pop_back();
  }
  return opened;
}

void DataFolder::Remove(std::uint64_t id) {
  std::shared_ptr<const OpenFile> dropped;
  {
    std::lock_guard lock(mutex_);
    auto found = open_.find(id);
    if (found != open_.end()) {
      dropped = std::move(found->second.file);
      recency_.erase(found->second.recency);
      open_.erase(found);
    }
  }
  unlink(PathOf(id).c_str());
}

}  // namespace headrace::devserver
