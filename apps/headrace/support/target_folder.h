// A local folder that downloads go into, and out of which none of them gets.
//
// Each key's path below the folder is walked component by component with O_NOFOLLOW, so that
// neither `..` nor a symbolic link, even one put there meanwhile, leads elsewhere. Bytes go into a
// temporary file beside the final name, which appears only by a rename when the file is whole.
// Folders that were made and into which nothing came are removed at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/scoped_fd.h"
#include "headrace/status.h"

namespace headrace::cli {

// What becomes of a file that has the name already.
enum class Existing : std::uint8_t { kReplace, kKeep };

class TargetFolder;

// A file under construction. Destroyed before Publish() has succeeded, it leaves nothing. Its
// TargetFolder must outlive it.
class NewFile {
 public:
  NewFile(NewFile&&) noexcept = default;
  ~NewFile();

  int fd() const { return fd_.get(); }
  // Gives the file its name and its modification time. kAlreadyExists where a folder has the name,
  // or anything at all has it that is to be kept.
  Status Publish(std::chrono::system_clock::time_point modified);

 private:
  friend class TargetFolder;
  NewFile(TargetFolder& target, std::string_view folders, std::shared_ptr<ScopedFd> folder)
      : target_(&target), folders_(folders), folder_(std::move(folder)) {}
  Status Open(std::string_view name);

  TargetFolder* target_;
  std::string folders_;               // from the target to the file, without its name
  std::shared_ptr<ScopedFd> folder_;  // null once published
  std::string temporary_;             // empty before it stands there
  std::string name_;
  ScopedFd fd_;
};

// Safe for use from many threads.
class TargetFolder {
 public:
  // Makes the folder, with its parents, when it is missing. The path itself may hold links: it is
  // the user's own.
  static Result<std::unique_ptr<TargetFolder>> Open(const std::string& path,
                                                    Existing existing = Existing::kReplace);
  // Removes the folders that were made and hold nothing.
  ~TargetFolder();

  // A new file for `relative`, the key's part below the prefix, with the permissions of the file
  // that it will replace. Folders on the way are made. kInvalidArgument, saying why, for a path
  // that the folder cannot hold: empty components (`a//b`, `/a`), `.` and `..`, a NUL, a link on
  // the way; kAlreadyExists where a file stands for a folder, and as NewFile::Publish.
  Result<NewFile> Create(std::string_view relative);

 private:
  friend class NewFile;
  explicit TargetFolder(Existing existing) : existing_(existing) {}
  Result<std::shared_ptr<ScopedFd>> Walk(std::string_view folders);
  Result<ScopedFd> Step(const ScopedFd& at, std::string_view path);
  void Filled(std::string_view folders);  // something was published there

  const Existing existing_;
  std::shared_ptr<ScopedFd> root_;
  std::mutex mu_;
  std::string last_path_;           // guarded by mu_; the folder walked to last
  std::shared_ptr<ScopedFd> last_;  // guarded by mu_; null before the first walk
  // Folders made, into which and below which nothing was published yet. Both guarded by mu_.
  std::vector<std::filesystem::path> made_root_;  // the root and its parents, outermost first
  std::set<std::string, std::less<>> made_;       // paths below the root
};

// kInvalidArgument, saying why, unless a file of this relative path can stand in a folder.
Status CheckRelativePath(std::string_view relative);

}  // namespace headrace::cli
