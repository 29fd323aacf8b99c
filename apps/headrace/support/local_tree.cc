#include "support/local_tree.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include "base/file_io.h"
#include "support/text.h"

namespace headrace::cli {
namespace {

using FolderId = std::pair<dev_t, ino_t>;

struct DirCloser {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

class Walker {
 public:
  Walker(const TreeOptions& options, std::stop_token stop,
         const std::function<bool(LocalFile)>& found,
         const std::function<void(const std::string&, Status)>& failed)
      : options_(options), stop_(std::move(stop)), found_(found), failed_(failed) {}

  // False when the walk is to end.
  bool Folder(const std::string& path, const std::string& relative) {
    std::unique_ptr<DIR, DirCloser> dir(::opendir(path.c_str()));
    if (!dir) {
      failed_(path, ErrnoStatus(errno, fmt::format("reading folder '{}'", Printable(path))));
      return true;
    }
    struct stat info {};
    if (::fstat(::dirfd(dir.get()), &info) != 0) return true;
    const FolderId id(info.st_dev, info.st_ino);
    if (std::find(above_.begin(), above_.end(), id) != above_.end()) {
      failed_(path, Status(StatusCode::kInvalidArgument,
                           fmt::format("'{}' links to a folder above it", Printable(path))));
      return true;
    }
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(dir.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    if (errno != 0) {
      failed_(path, ErrnoStatus(errno, fmt::format("reading folder '{}'", Printable(path))));
    }
    dir.reset();
    std::sort(names.begin(), names.end());
    above_.push_back(id);
    bool go_on = true;
    for (const std::string& name : names) {
      go_on = Entry(fmt::format("{}/{}", path, name),
                    relative.empty() ? name : fmt::format("{}/{}", relative, name));
      if (!go_on) break;
    }
    above_.pop_back();
    return go_on;
  }

 private:
  bool Entry(const std::string& path, const std::string& relative) {
    if (stop_.stop_requested()) return false;
    struct stat info {};
    const int flags = options_.follow_links ? 0 : AT_SYMLINK_NOFOLLOW;
    if (::fstatat(AT_FDCWD, path.c_str(), &info, flags) != 0) {
      failed_(path, ErrnoStatus(errno, fmt::format("'{}'", Printable(path))));
      return true;
    }
    if (S_ISDIR(info.st_mode)) return Folder(path, relative);
    if (S_ISREG(info.st_mode)) {
      return found_({relative, path, static_cast<std::uint64_t>(info.st_size)});
    }
    if (!S_ISLNK(info.st_mode)) {  // links that are not followed are left out silently, as asked
      failed_(path, Status(StatusCode::kInvalidArgument,
                           fmt::format("'{}' is a device, pipe or socket", Printable(path))));
    }
    return true;
  }

  const TreeOptions& options_;
  std::stop_token stop_;
  const std::function<bool(LocalFile)>& found_;
  const std::function<void(const std::string&, Status)>& failed_;
  std::vector<FolderId> above_;  // the folders being walked, outermost first
};

}  // namespace

void WalkTree(const std::string& folder, const TreeOptions& options, std::stop_token stop,
              const std::function<bool(LocalFile)>& found,
              const std::function<void(const std::string& path, Status)>& failed) {
  std::string root = folder;
  while (root.size() > 1 && root.ends_with('/')) root.pop_back();
  Walker(options, std::move(stop), found, failed).Folder(root, "");
}

}  // namespace headrace::cli
