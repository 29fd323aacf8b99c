// A local folder that downloads go into, and out of which none of them gets.
//
// Each key's path below the folder is walked component by component with O_NOFOLLOW, so that
// neither
// `..` nor a symbolic link, even one put there meanwhile, leads elsewhere. Bytes go into a
// temporary file beside the final name, which appears only by a rename when the file is whole.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/scoped_fd.h"
#include "headrace/status.h"

namespace headrace::cli {

// A file under construction. Destroyed before Publish() has succeeded, it leaves nothing.
class NewFile {
 public:
  NewFile() = default;
  NewFile(std::shared_ptr<ScopedFd> folder, std::string temporary, std::string name, ScopedFd fd)
      : folder_(std::move(folder)),
        temporary_(std::move(temporary)),
        name_(std::move(name)),
        fd_(std::move(fd)) {}
  NewFile(NewFile&&) noexcept = default;
  NewFile& operator=(NewFile&&) noexcept = default;
  ~NewFile();

  int fd() const { return fd_.get(); }
  // Gives the file its name, over what has it now, and its modification time.
  Status Publish(std::chrono::system_clock::time_point modified);

 private:
  std::shared_ptr<ScopedFd> folder_;  // null once published
  std::string temporary_;
  std::string name_;
  ScopedFd fd_;
};

// Safe for use from many threads.
class TargetFolder {
 public:
  // Makes the folder, with its parents, when it is missing. The path itself may hold links: it is
  // the user's own.
  static Result<std::unique_ptr<TargetFolder>> Open(const std::string& path);

  // A new file for `relative`, the key's part below the prefix. Folders on the way are made.
  // kInvalidArgument, saying why, for a path that the folder cannot hold: empty components (`a//b`,
  // `/a`), `.` and `..`, a NUL, a link on the way; kAlreadyExists where a file stands for a folder.
  Result<NewFile> Create(std::string_view relative);

 private:
  explicit TargetFolder(ScopedFd fd) : root_(std::make_shared<ScopedFd>(std::move(fd))) {}
  Result<std::shared_ptr<ScopedFd>> Walk(std::string_view folders);

  const std::shared_ptr<ScopedFd> root_;
  std::mutex mu_;
  std::string last_path_;           // guarded by mu_; the folder walked to last
  std::shared_ptr<ScopedFd> last_;  // guarded by mu_; null before the first walk
};

// kInvalidArgument, saying why, unless a file of this relative path can stand in a folder.
Status CheckRelativePath(std::string_view relative);

}  // namespace headrace::cli
