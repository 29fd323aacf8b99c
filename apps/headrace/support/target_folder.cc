#include "support/target_folder.h"

#include <atomic>
#include <cerrno>
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

constexpr mode_t kFolderMode = 0777;  // less the umask
constexpr mode_t kFileMode = 0666;

Status Refused(std::string_view relative, std::string_view why) {
  return Status(StatusCode::kInvalidArgument,
                fmt::format("'{}' cannot be a local file: {}", Printable(relative), why));
}

}  // namespace

NewFile::~NewFile() {
  if (folder_) ::unlinkat(folder_->get(), temporary_.c_str(), 0);
}

Status NewFile::Publish(std::chrono::system_clock::time_point modified) {
  if (modified.time_since_epoch().count() > 0) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(modified);
    const auto nanos = std::chrono::nanoseconds(modified - seconds).count();
    const timespec time{.tv_sec = seconds.time_since_epoch().count(), .tv_nsec = nanos};
    const timespec times[2] = {time, time};
    ::futimens(fd_.get(), times);  // a file system that keeps no times still keeps the bytes
  }
  if (::renameat(folder_->get(), temporary_.c_str(), folder_->get(), name_.c_str()) != 0) {
    const int error = errno;
    if (error == EISDIR || error == ENOTEMPTY) {
      return Status(StatusCode::kAlreadyExists,
                    fmt::format("a folder stands where '{}' should", Printable(name_)));
    }
    return ErrnoStatus(error, fmt::format("naming '{}'", Printable(name_)));
  }
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

Result<std::unique_ptr<TargetFolder>> TargetFolder::Open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
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
  return std::unique_ptr<TargetFolder>(new TargetFolder(std::move(fd)));
}

Result<std::shared_ptr<ScopedFd>> TargetFolder::Walk(std::string_view folders) {
  {
    std::lock_guard lock(mu_);
    if (last_ && last_path_ == folders) return last_;
  }
  std::shared_ptr<ScopedFd> at = root_;
  for (std::string_view rest = folders; !rest.empty();) {
    const std::string component(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(rest.size(), component.size() + 1));
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    ScopedFd next(::openat(at->get(), component.c_str(), kFlags));
    if (!next.valid() && errno == ENOENT) {
      // Another thread may be faster; then opening succeeds all the same.
      if (::mkdirat(at->get(), component.c_str(), kFolderMode) != 0 && errno != EEXIST) {
        return ErrnoStatus(errno, fmt::format("making folder '{}'", Printable(folders)));
      }
      next = ScopedFd(::openat(at->get(), component.c_str(), kFlags));
    }
    if (!next.valid()) {
      const int error = errno;
      struct stat info {};
      if (::fstatat(at->get(), component.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISLNK(info.st_mode)) {
          return Status(StatusCode::kInvalidArgument,
                        fmt::format("'{}' in '{}' is a symbolic link, which could lead out of the "
                                    "target folder",
                                    Printable(component), Printable(folders)));
        }
        if (!S_ISDIR(info.st_mode)) {
          return Status(StatusCode::kAlreadyExists,
                        fmt::format("a file stands where folder '{}' should", Printable(folders)));
        }
      }
      return ErrnoStatus(error, fmt::format("opening folder '{}'", Printable(folders)));
    }
    at = std::make_shared<ScopedFd>(std::move(next));
  }
  std::lock_guard lock(mu_);
  last_path_ = folders;
  last_ = at;
  return at;
}

Result<NewFile> TargetFolder::Create(std::string_view relative) {
  RETURN_IF_ERROR(CheckRelativePath(relative));
  const std::string name(Basename(relative));
  const std::string_view folders =
      relative.substr(0, relative.size() - std::min(relative.size(), name.size() + 1));
  ASSIGN_OR_RETURN(std::shared_ptr<ScopedFd> folder, Walk(folders));
  static std::atomic<unsigned> counter = 0;
  for (;;) {
    std::string temporary = fmt::format(".headrace-{}-{}.part", ::getpid(), counter.fetch_add(1));
    ScopedFd fd(::openat(folder->get(), temporary.c_str(),
                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
    if (fd.valid()) {
      return NewFile(std::move(folder), std::move(temporary), name, std::move(fd));
    }
    if (errno != EEXIST) {
      return ErrnoStatus(errno, fmt::format("creating '{}'", Printable(relative)));
    }
  }
}

}  // namespace headrace::cli
