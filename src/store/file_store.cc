#include "store/file_store.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <random>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <vector>

#include "base/file_io.h"
#include "base/macros.h"
#include "base/scoped_fd.h"

namespace headrace::store {
namespace {

namespace fs = std::filesystem;

// The names of files that are being written begin so.
constexpr std::string_view kUnfinished = ".headrace-";

template <typename T>
Pending<T> Now(Result<T> result) {
  return Pending<T>::Ready(std::move(result));
}

std::string EtagOf(const struct stat& st) {
  return fmt::format("{:x}-{:x}-{:x}", st.st_ino, st.st_size,
                     st.st_mtim.tv_sec * 1'000'000'000 + st.st_mtim.tv_nsec);
}

std::chrono::system_clock::time_point ModifiedOf(const struct stat& st) {
  return std::chrono::system_clock::time_point(std::chrono::seconds(st.st_mtim.tv_sec) +
                                               std::chrono::nanoseconds(st.st_mtim.tv_nsec));
}

bool HoldsAsPath(std::string_view key) {
  if (key.empty() || key.front() == '/' || key.back() == '/') return false;
  if (key.find('\0') != std::string_view::npos) return false;
  while (true) {
    const std::size_t slash = key.find('/');
    const std::string_view component = key.substr(0, slash);
    if (component.empty() || component == "." || component == ".." || component.size() > 255) {
      return false;
    }
    if (slash == std::string_view::npos) return !component.starts_with(kUnfinished);
    key.remove_prefix(slash + 1);
  }
}

Result<std::string> PathOf(const Name& name) {
  if (name.bucket.empty()) return name.key;
  if (!HoldsAsPath(name.key)) {
    return Status(
        StatusCode::kUnsupported,
        fmt::format("the key '{}' cannot be a file name below {}", name.key, name.bucket));
  }
  return name.bucket + "/" + name.key;
}

// Whether the kernel, or one of the two file systems, only copies through the process.
bool CannotCopyInKernel(int error) {
  return error == EXDEV || error == ENOSYS || error == EOPNOTSUPP || error == EINVAL;
}

// Appends all that is left of `from` to `to`.
Status CopyRest(int from, int to, const std::string& path) {
  while (true) {
    const ssize_t n = copy_file_range(from, nullptr, to, nullptr, 1 << 30, 0);
    if (n == 0) return {};
    if (n > 0 || errno == EINTR) continue;
    if (!CannotCopyInKernel(errno)) return ErrnoStatus(errno, "writing", path);
    break;
  }
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  while (true) {
    const ssize_t n = read(from, buffer.data(), buffer.size());
    if (n == 0) return {};
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "reading a part of", path);
    RETURN_IF_ERROR(WriteAll(to, {buffer.data(), static_cast<std::size_t>(n)}, "writing " + path));
  }
}

// Errors of what disappeared since its name was read, and of links that lead nowhere.
bool IsGone(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

// The keys that a listing is about, and if it is delimited the folders right below its prefix.
class Walk {
 public:
  Walk(const ListRequest& request, std::string root) : request_(request), root_(std::move(root)) {}

  struct Found {
    std::string name;  // a folder's ends in '/'
    bool is_folder;
    bool operator<(const Found& other) const {
      return std::tie(name, is_folder) < std::tie(other.name, other.is_folder);
    }
  };

  // Ascending. A folder that cannot be read fails it: what is left out would pass for absent.
  Result<std::vector<Found>> Run() {
    // The deepest folder that the prefix names for certain.
    const std::string whole = root_ + request_.prefix;
    folders_.push_back(whole.substr(0, whole.rfind('/') + 1));
    while (!folders_.empty()) {
      const std::string folder = std::move(folders_.back());
      folders_.pop_back();
      RETURN_IF_ERROR(ReadFolder(folder));
    }
    std::sort(found_.begin(), found_.end());
    return std::move(found_);
  }

 private:
  Status ReadFolder(const std::string& folder) {
    std::error_code error;
    fs::directory_iterator it(folder.empty() ? "." : folder, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      OnEntry(folder + it->path().filename().string(), *it);
    }
    if (error && !IsGone(error.value())) return ErrnoStatus(error.value(), "listing", folder);
    return {};
  }

  void OnEntry(const std::string& path, const fs::directory_entry& entry) {
    std::string key = path.substr(root_.size());
    if (!key.starts_with(request_.prefix)) return;
    std::error_code dangling;  // a link to nothing is no folder
    if (!entry.is_directory(dangling)) {
      const bool unfinished = entry.path().filename().native().starts_with(kUnfinished);
      if (!unfinished && key > request_.start_after) found_.push_back({std::move(key), false});
    } else if (request_.delimited) {
      key += '/';
      if (key > request_.start_after) found_.push_back({std::move(key), true});
    } else if (!entry.is_symlink(dangling)) {  // those may lead round in a circle
      folders_.push_back(path + "/");
    }
  }

  const ListRequest& request_;
  const std::string root_;
  std::vector<std::string> folders_;  // to be read yet; each ends in '/', "" is the working folder
  std::vector<Found> found_;
};

class FileStore final : public Store {
 public:
  explicit FileStore(BufferPool* buffers) : buffers_(*buffers) {}

  Capabilities capabilities() const override { return {.any_key = false, .metadata = false}; }

  Pending<ReadReply> Read(ReadRequest request) override { return Now<ReadReply>(ReadNow(request)); }
  Pending<ObjectInfo> Stat(const Name& name) override { return Now<ObjectInfo>(StatNow(name)); }
  Pending<s3::ListPage> List(const ListRequest& request) override {
    return Now<s3::ListPage>(ListNow(request));
  }
  Pending<WriteReply> Put(const Name& name, Buffer data, const PutOptions& options) override {
    return Now<WriteReply>(PutNow(name, data, options));
  }

  Pending<Upload> CreateUpload(const Name& name, const PutOptions& options) override {
    const Result<std::string> path = PathOf(name);
    if (!path.ok()) return Now<Upload>(path.status());
    if (const Status made = MakeFolderOf(*path); !made.ok()) return Now<Upload>(made);
    return Now<Upload>(
        Upload{.name = name, .id = TemporaryName(*path), .if_none_match = options.if_none_match});
  }

  Pending<Part> UploadPart(const Upload& upload, int number, Buffer data) override {
    const std::string path = PartPath(upload, number);
    const Status status = WriteNew(path, data.span());
    if (!status.ok()) return Now<Part>(status);
    return Now<Part>(Part{.number = number, .etag = std::to_string(number), .size = data.size()});
  }

  Pending<WriteReply> CompleteUpload(const Upload& upload,
                                     const std::vector<Part>& parts) override {
    return Now<WriteReply>(CompleteNow(upload, parts));
  }

  Pending<Nothing> AbortUpload(const Upload& upload) override {
    const fs::path base(upload.id);
    std::error_code error;
    const fs::path folder = base.has_parent_path() ? base.parent_path() : fs::path(".");
    const std::string whole = base.filename().string();
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name == whole || name.starts_with(whole + ".")) unlink(it->path().c_str());
    }
    return Now<Nothing>(Nothing{});
  }

  Pending<Nothing> Delete(const Name& name) override { return Now<Nothing>(DeleteNow(name)); }

  Pending<std::vector<Status>> DeleteMany(const std::string& bucket,
                                          const std::vector<std::string>& keys) override {
    std::vector<Status> statuses;
    statuses.reserve(keys.size());
    for (const std::string& key : keys) statuses.push_back(DeleteNow({bucket, key}).status());
    return Now<std::vector<Status>>(std::move(statuses));
  }

  Pending<WriteReply> Copy(const Name& source, const Name& target, const PutOptions& options,
                           const std::string& source_etag) override {
    Result<ReadReply> data = ReadNow({.name = source, .etag = source_etag});
    if (!data.ok()) return Now<WriteReply>(data.status());
    return Now<WriteReply>(PutNow(target, data->data, options));
  }

  Pending<Part> CopyPart(const Upload& upload, int number, const Name& source,
                         ReadRequest::Range range, const std::string& source_etag) override {
    Result<ReadReply> data = ReadNow({.name = source, .range = range, .etag = source_etag});
    if (!data.ok()) return Now<Part>(data.status());
    return UploadPart(upload, number, data->data);
  }

  Pending<Nothing> CreateBucket(const std::string& bucket) override {
    std::error_code error;
    fs::create_directories(bucket, error);
    if (error) return Now<Nothing>(ErrnoStatus(error.value(), "creating", bucket));
    return Now<Nothing>(Nothing{});
  }

  Pending<Nothing> DeleteBucket(const std::string& bucket) override {
    if (rmdir(bucket.c_str()) != 0) return Now<Nothing>(ErrnoStatus(errno, "removing", bucket));
    return Now<Nothing>(Nothing{});
  }

  Pending<std::vector<std::string>> ListBuckets() override {
    return Now<std::vector<std::string>>(
        Status(StatusCode::kUnsupported, "local folders are not listed as buckets"));
  }

 private:
  // Beside the file that it becomes, and without that one's name, which may be as long as names
  // can be. By chance alone, since other processes and hosts may write to the same folder.
  static std::string TemporaryName(const std::string& path) {
    std::random_device random;
    const std::uint64_t id = (std::uint64_t{random()} << 32) | random();
    return (fs::path(path).parent_path() / fmt::format("{}{:016x}", kUnfinished, id)).string();
  }
  static std::string PartPath(const Upload& upload, int number) {
    return fmt::format("{}.{}", upload.id, number);
  }

  static Status MakeFolderOf(const std::string& path) {
    const fs::path folder = fs::path(path).parent_path();
    if (folder.empty()) return {};  // a name in the working directory
    std::error_code error;
    fs::create_directories(folder, error);
    return error ? ErrnoStatus(error.value(), "making", folder.string()) : Status();
  }

  static Status WriteNew(const std::string& path, std::span<const std::byte> bytes) {
    ScopedFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file.valid()) return ErrnoStatus(errno, "creating", path);
    Status status = WriteAll(file.get(), bytes, "writing " + path);
    if (const int error = file.Close(); status.ok() && error != 0) {
      status = ErrnoStatus(error, "writing", path);
    }
    if (!status.ok()) unlink(path.c_str());
    return status;
  }

  Result<ReadReply> ReadNow(const ReadRequest& request) {
    ASSIGN_OR_RETURN(const std::string path, PathOf(request.name));
    ScopedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return ErrnoStatus(errno, "reading", path);
    struct stat st {};
    if (fstat(file.get(), &st) != 0) return ErrnoStatus(errno, "reading", path);
    if (S_ISDIR(st.st_mode)) return ErrnoStatus(EISDIR, "reading", path);
    ReadReply reply{.object_size = static_cast<std::uint64_t>(st.st_size),
                    .etag = EtagOf(st),
                    .last_modified = ModifiedOf(st)};
    if (!request.etag.empty() && request.etag != reply.etag) {
      return Status(StatusCode::kObjectChanged, fmt::format("{} was replaced", path));
    }
    const std::uint64_t offset =
        request.range ? std::min(request.range->offset, reply.object_size) : 0;
    std::uint64_t length = request.range ? request.range->length : request.keep_at_most;
    length = std::min(length, reply.object_size - offset);
    std::byte* target = request.into.data();
    if (request.into.empty()) {
      reply.data = buffers_.Allocate(length);
      target = reply.data.mutable_data();
    }
    while (reply.received < length) {
      const ssize_t n = pread(file.get(), target + reply.received, length - reply.received,
                              static_cast<off_t>(offset + reply.received));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, "reading", path);
      if (n == 0) break;
      reply.received += static_cast<std::uint64_t>(n);
    }
    if (request.into.empty()) reply.data = reply.data.Slice(0, reply.received);
    return reply;
  }

  static Result<ObjectInfo> StatNow(const Name& name) {
    ASSIGN_OR_RETURN(const std::string path, PathOf(name));
    struct stat st {};
    if (stat(path.c_str(), &st) != 0) return ErrnoStatus(errno, "looking up", path);
    if (S_ISDIR(st.st_mode)) return ErrnoStatus(EISDIR, "looking up", path);
    return ObjectInfo{.bucket = name.bucket,
                      .key = name.key,
                      .size = static_cast<std::uint64_t>(st.st_size),
                      .etag = EtagOf(st),
                      .last_modified = ModifiedOf(st)};
  }

  // Everything in one page: a folder is read whole anyway to give its names in order.
  static Result<s3::ListPage> ListNow(const ListRequest& request) {
    s3::ListPage page;
    const std::string root = request.bucket.empty() ? "" : request.bucket + "/";
    struct stat st {};
    if (!request.bucket.empty() && stat(request.bucket.c_str(), &st) != 0) {
      return ErrnoStatus(errno, "listing", request.bucket);
    }
    ASSIGN_OR_RETURN(std::vector<Walk::Found> found, Walk(request, root).Run());
    for (auto& [name, is_folder] : found) {
      const std::string& kept = page.pieced_together.emplace_back(std::move(name));
      if (is_folder) {
        page.common_prefixes.push_back(kept);
        continue;
      }
      if (stat((root + kept).c_str(), &st) != 0) {
        if (IsGone(errno)) continue;
        return ErrnoStatus(errno, "listing", root + kept);
      }
      page.objects.push_back(
          {.key = kept,
           .etag = page.pieced_together.emplace_back(EtagOf(st)),
           .size = static_cast<std::uint64_t>(st.st_size),
           .last_modified_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   ModifiedOf(st).time_since_epoch())
                                   .count()});
    }
    return page;
  }

  Result<WriteReply> Publish(const std::string& temporary, const std::string& path, bool only_new) {
    const int failed =
        only_new ? link(temporary.c_str(), path.c_str()) : rename(temporary.c_str(), path.c_str());
    const int error = errno;
    if (only_new || failed != 0) unlink(temporary.c_str());
    if (failed != 0) return ErrnoStatus(error, "writing", path);
    struct stat st {};
    if (stat(path.c_str(), &st) != 0) return ErrnoStatus(errno, "writing", path);
    return WriteReply{.etag = EtagOf(st)};
  }

  Result<WriteReply> PutNow(const Name& name, const Buffer& data, const PutOptions& options) {
    ASSIGN_OR_RETURN(const std::string path, PathOf(name));
    struct stat st {};
    if (!name.bucket.empty() && stat(name.bucket.c_str(), &st) != 0) {
      return ErrnoStatus(errno, "writing to", name.bucket);
    }
    RETURN_IF_ERROR(MakeFolderOf(path));
    const std::string temporary = TemporaryName(path);
    RETURN_IF_ERROR(WriteNew(temporary, data.span()));
    return Publish(temporary, path, options.if_none_match);
  }

  Result<WriteReply> CompleteNow(const Upload& upload, const std::vector<Part>& parts) {
    ASSIGN_OR_RETURN(const std::string path, PathOf(upload.name));
    ScopedFd whole(open(upload.id.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!whole.valid()) return ErrnoStatus(errno, "creating", upload.id);
    for (const Part& part : parts) {
      const std::string part_path = PartPath(upload, part.number);
      ScopedFd source(open(part_path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!source.valid()) return ErrnoStatus(errno, "reading", part_path);
      RETURN_IF_ERROR(CopyRest(source.get(), whole.get(), path));
      unlink(part_path.c_str());
    }
    if (const int error = whole.Close(); error != 0) return ErrnoStatus(error, "writing", path);
    return Publish(upload.id, path, upload.if_none_match);
  }

  static Result<Nothing> DeleteNow(const Name& name) {
    ASSIGN_OR_RETURN(const std::string path, PathOf(name));
    if (unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
      return ErrnoStatus(errno, "deleting", path);
    }
    return Nothing{};
  }

  BufferPool& buffers_;
};

}  // namespace

std::unique_ptr<Store> MakeFileStore(BufferPool* buffers) {
  return std::make_unique<FileStore>(buffers);
}

}  // namespace headrace::store
