#include "support/target_folder.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/file_io.h"
#include "base/macros.h"
#include "support/location.h"
#include "support/text.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFolderMode = 0777;  // less the umask
constexpr mode_t kFileMode = 0666;
constexpr mode_t kPermissions = 0777;  // what a file takes of the one that it replaces

// The part before the last '/'; empty without one.
std::string_view FoldersOf(std::string_view path) {
  return path.substr(0, path.size() - std::min(path.size(), Basename(path).size() + 1));
}

Status Refused(std::string_view relative, std::string_view why) {
  return Status(StatusCode::kInvalidArgument,
                fmt::format("'{}' cannot be a local file: {}", Printable(relative), why));
}

// Makes what is missing of `path`; what was made goes into `made`, outermost first.
void MakeFolders(const fs::path& path, std::vector<fs::path>* made, std::error_code& error) {
  std::vector<fs::path> missing;
  for (fs::path at = path; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    missing.push_back(at);
  }
  for (error.clear(); !missing.empty() && !error; missing.pop_back()) {
    if (fs::create_directory(missing.back(), error)) made->push_back(missing.back());
  }
}

Status FolderStands(std::string_view name) {
  return Status(StatusCode::kAlreadyExists,
                fmt::format("a folder stands where '{}' should", Printable(name)));
}

Status NameTaken(std::string_view name) {
  return Status(StatusCode::kAlreadyExists, fmt::format("'{}' exists already", Printable(name)));
}

// Renames within a folder where nothing has the new name. 0, or what errno says.
int RenameToFreeName(int folder, const std::string& from, const std::string& to) {
  if (::renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // NFS and others do not know the flag; a link replaces nothing, either.
  if (::linkat(folder, from.c_str(), folder, to.c_str(), 0) != 0) return errno;
  ::unlinkat(folder, from.c_str(), 0);
  return 0;
}

int RenameOver(int folder, const std::string& from, const std::string& to) {
  return ::renameat(folder, from.c_str(), folder, to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

NewFile::~NewFile() {
  if (folder_ && !temporary_.empty()) ::unlinkat(folder_->get(), temporary_.c_str(), 0);
}

// Makes the temporary file.
Status NewFile::Open(std::string_view name) {
  name_ = name;
  mode_t mode = kFileMode;
  struct stat old {};
  const bool stands = ::fstatat(folder_->get(), name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (stands && S_ISDIR(old.st_mode)) return FolderStands(name_);
  if (stands && target_->existing_ == Existing::kKeep) return NameTaken(name_);
  const bool replaces_file = stands && S_ISREG(old.st_mode);
  if (replaces_file) mode = old.st_mode & kPermissions;
  static std::atomic<unsigned> counter = 0;
  for (;;) {
    std::string temporary = fmt::format(".headrace-{}-{}.part", ::getpid(), counter.fetch_add(1));
    // With the old file's mode from the start, so that nobody reads what only its owner may.
    fd_ = ScopedFd(::openat(folder_->get(), temporary.c_str(),
                            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (fd_.valid()) {
      temporary_ = std::move(temporary);
      // What the umask took. A file system that keeps no modes still keeps the bytes.
      if (replaces_file) ::fchmod(fd_.get(), mode);
      return {};
    }
    if (errno != EEXIST) return ErrnoStatus(errno, fmt::format("creating '{}'", Printable(name_)));
  }
}

Status NewFile::Publish(std::chrono::system_clock::time_point modified) {
  if (modified.time_since_epoch().count() > 0) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(modified);
    const auto nanos = std::chrono::nanoseconds(modified - seconds).count();
    const timespec time{.tv_sec = seconds.time_since_epoch().count(), .tv_nsec = nanos};
    const timespec times[2] = {time, time};
    ::futimens(fd_.get(), times);  // a file system that keeps no times still keeps the bytes
  }
  if (const int error = fd_.Close(); error != 0) {
    return ErrnoStatus(error, fmt::format("writing '{}'", Printable(name_)));
  }
  const bool keep = target_->existing_ == Existing::kKeep;
  const int error = (keep ? RenameToFreeName : RenameOver)(folder_->get(), temporary_, name_);
  if (error == EISDIR || error == ENOTEMPTY) return FolderStands(name_);
  if (error == EEXIST) return NameTaken(name_);
  if (error != 0) return ErrnoStatus(error, fmt::format("naming '{}'", Printable(name_)));
  target_->Filled(folders_);
  folder_.reset();
  return {};
}

Status CheckRelativePath(std::string_view relative) {
  if (relative.empty()) return Refused(relative, "it has no name");
  if (relative.find('\0') != std::string_view::npos) return Refused(relative, "it holds a NUL");
  if (relative.front() == '/') return Refused(relative, "it is an absolute path");
  for (std::string_view rest = relative;;) {
    const std::size_t slash = rest.find('/');
    const std::string_view component = rest.substr(0, slash);
    if (component.empty()) {
      return Refused(relative, slash == std::string_view::npos
                                   ? "it names a folder"
                                   : "it holds '//', which local paths do not tell from '/'");
    }
    if (component == "..") return Refused(relative, "'..' would lead out of its folder");
    if (component == ".") return Refused(relative, "'.' is not the name of a file");
    if (slash == std::string_view::npos) return {};
    rest.remove_prefix(slash + 1);
  }
}

Result<std::unique_ptr<TargetFolder>> TargetFolder::Open(const std::string& path,
                                                         Existing existing) {
  std::unique_ptr<TargetFolder> target(new TargetFolder(existing));
  std::error_code error;
  MakeFolders(path, &target->made_root_, error);
  ScopedFd fd(::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    const int number = errno;
    if (error && number == ENOENT) {
      return ErrnoStatus(error.value(), fmt::format("making folder '{}'", path));
    }
    if (number == ENOTDIR) {
      return Status(StatusCode::kAlreadyExists,
                    fmt::format("a file stands where folder '{}' should", path));
    }
    return ErrnoStatus(number, fmt::format("opening folder '{}'", path));
  }
  target->root_ = std::make_shared<ScopedFd>(std::move(fd));
  return target;
}

TargetFolder::~TargetFolder() {
  // Backwards: what is below a folder comes after it. One that holds something is not removed.
  for (auto path = made_.rbegin(); path != made_.rend(); ++path) {
    const std::string name(Basename(*path));
    const Result<std::shared_ptr<ScopedFd>> parent = Walk(FoldersOf(*path));
    if (parent.ok()) ::unlinkat((*parent)->get(), name.c_str(), AT_REMOVEDIR);
  }
  for (; !made_root_.empty(); made_root_.pop_back()) ::rmdir(made_root_.back().c_str());
}

// The folder at `path`, whose parent is `at`; made when it is missing.
Result<ScopedFd> TargetFolder::Step(const ScopedFd& at, std::string_view path) {
  const std::string name(Basename(path));
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  ScopedFd next(::openat(at.get(), name.c_str(), kFlags));
  if (!next.valid() && errno == ENOENT) {
    if (::mkdirat(at.get(), name.c_str(), kFolderMode) == 0) {
      std::lock_guard lock(mu_);
      made_.emplace(path);
    } else if (errno != EEXIST) {  // another thread may be faster
      return ErrnoStatus(errno, fmt::format("making folder '{}'", Printable(path)));
    }
    next = ScopedFd(::openat(at.get(), name.c_str(), kFlags));
  }
  if (next.valid()) return next;
  const int error = errno;
  struct stat info {};
  const bool stands = ::fstatat(at.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (stands && S_ISLNK(info.st_mode)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("'{}' is a symbolic link, which could lead out of the target folder",
                              Printable(path)));
  }
  if (stands && !S_ISDIR(info.st_mode)) {
    return Status(StatusCode::kAlreadyExists,
                  fmt::format("a file stands where folder '{}' should", Printable(path)));
  }
  return ErrnoStatus(error, fmt::format("opening folder '{}'", Printable(path)));
}

Result<std::shared_ptr<ScopedFd>> TargetFolder::Walk(std::string_view folders) {
  {
    std::lock_guard lock(mu_);
    if (last_ && last_path_ == folders) return last_;
  }
  std::shared_ptr<ScopedFd> at = root_;
  for (std::size_t end = 0; end < folders.size(); ++end) {
    end = std::min(folders.find('/', end), folders.size());
    ASSIGN_OR_RETURN(ScopedFd next, Step(*at, folders.substr(0, end)));
    at = std::make_shared<ScopedFd>(std::move(next));
  }
  std::lock_guard lock(mu_);
  last_path_ = folders;
  last_ = at;
  return at;
}

void TargetFolder::Filled(std::string_view folders) {
  std::lock_guard lock(mu_);
  made_root_.clear();
  for (; !folders.empty(); folders = FoldersOf(folders)) {
    const auto made = made_.find(folders);
    if (made != made_.end()) made_.erase(made);
  }
}

Result<NewFile> TargetFolder::Create(std::string_view relative) {
  RETURN_IF_ERROR(CheckRelativePath(relative));
  const std::string_view folders = FoldersOf(relative);
  ASSIGN_OR_RETURN(std::shared_ptr<ScopedFd> folder, Walk(folders));
  NewFile file(*this, folders, std::move(folder));
  RETURN_IF_ERROR(file.Open(Basename(relative)));
  return file;
}

}  // namespace headrace::cli
