// Files of object data. A data file is written once, then immutable; it lives as long as something
// refers to it, so a reader of a replaced object keeps reading what it began with.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headrace/status.h"

namespace headrace::devserver {

// An open descriptor, closed with its last owner.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

class DataFolder;

// One data file. The last reference unlinks the file, unless the folder is being closed.
class DataFile {
 public:
  DataFile(DataFolder* folder, std::uint64_t id) : folder_(folder), id_(id) {}
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;
  std::uint64_t id() const { return id_; }

 private:
  DataFolder* folder_;
  std::uint64_t id_;
};

// A data file being written. Dropped without Finish, it leaves nothing behind.
class DataFileWriter {
 public:
  DataFileWriter(std::shared_ptr<DataFile> file, int fd) : file_(std::move(file)), fd_(fd) {}
  ~DataFileWriter();
  DataFileWriter(const DataFileWriter&) = delete;
  DataFileWriter& operator=(const DataFileWriter&) = delete;

  Status Write(std::string_view data);  // errors: kNoSpace, kIo
  std::shared_ptr<DataFile> Finish();   // call once
  std::uint64_t size() const { return size_; }

 private:
  std::shared_ptr<DataFile> file_;
  int fd_;
  std::uint64_t size_ = 0;
};

// The folder that holds the data files, some thousands to a sub-folder, and a cache of open
// descriptors. Thread-safe. REQUIRES: outlives its DataFiles.
class DataFolder {
 public:
  DataFolder(std::string path, std::size_t max_open_files);

  Status Create();  // makes the folder when it is missing
  // Ids of all files present, in no order.
  Result<std::vector<std::uint64_t>> ListIds() const;
  void set_next_id(std::uint64_t id) { next_id_ = id; }

  Result<std::unique_ptr<DataFileWriter>> NewFile();
  // The file of that id, known to exist. One DataFile per id at a time: the caller sees to it.
  std::shared_ptr<DataFile> Adopt(std::uint64_t id);
  Result<std::shared_ptr<const OpenFile>> Open(const DataFile& file);
  void Remove(std::uint64_t id);
  // From now on dropped references leave their files in place.
  void BeginClose() { closing_ = true; }
  void EndClose() { closing_ = false; }

 private:
  friend class DataFile;
  std::string SubfolderOf(std::uint64_t id) const;
  std::string PathOf(std::uint64_t id) const;

  struct Cached {
    std::shared_ptr<const OpenFile> file;
    std::list<std::uint64_t>::iterator recency;
  };
  const std::string path_;
  const std::size_t max_open_files_;
  std::atomic<bool> closing_ = false;
  std::atomic<std::uint64_t> next_id_ = 1;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Cached> open_;  // guarded by mutex_
  std::list<std::uint64_t> recency_;                // guarded by mutex_; most recent first
};

}  // namespace headrace::devserver
