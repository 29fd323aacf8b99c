// The store's log of changes: JSON Lines, appended to, read back at start. A record is the moment
// at which a change becomes real, so a process that dies leaves no half object.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "headrace/status.h"

namespace headrace::devserver {

// Not thread-safe: the store calls it under its lock.
class Journal {
 public:
  // Whether the file at `path` begins as a journal does, whose first record makes a bucket, or is
  // empty.
  static bool MayBeOurs(const std::string& path);
  // Opens or creates `path` and calls `replay` for each record in it. A last line cut off by a
  // crash is dropped. Errors: kIo, also when a record in the middle is broken.
  static Result<std::unique_ptr<Journal>> Open(
      const std::string& path, const std::function<Status(const nlohmann::json&)>& replay);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  Status Append(const nlohmann::json& record);  // in the kernel's hands when it returns
  std::size_t records() const { return records_; }

  // Puts `write`'s records in the place of all present ones, atomically.
  Status Rewrite(
      const std::function<Status(const std::function<Status(const nlohmann::json&)>&)>& write);

 private:
  Journal(std::string path, int fd, std::size_t records)
      : path_(std::move(path)), fd_(fd), records_(records) {}
  std::string path_;
  int fd_;
  std::size_t records_;
};

}  // namespace headrace::devserver
