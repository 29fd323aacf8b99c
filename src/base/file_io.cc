#include "base/file_io.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace headrace {
namespace {

StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return StatusCode::kAccessDenied;
    case ENOSPC:
    case EDQUOT:
      return StatusCode::kNoSpace;
    case EEXIST:
    case ENOTEMPTY:
      return StatusCode::kAlreadyExists;
    case EISDIR:
    case ENAMETOOLONG:
      return StatusCode::kInvalidArgument;
    default:
      return StatusCode::kIo;
  }
}

// `write_some` writes a beginning of what it is given and returns its length.
template <typename WriteSome>
Status WriteUntilDone(std::span<const std::byte> bytes, std::string_view doing,
                      WriteSome write_some) {
  while (!bytes.empty()) {
    const ssize_t n = write_some(bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, doing);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

Status ErrnoStatus(int error, std::string_view doing) {
  return Status(CodeOf(error), fmt::format("{}: {}", doing, std::strerror(error)));
}

Status ErrnoStatus(int error, std::string_view doing, std::string_view path) {
  return ErrnoStatus(error, fmt::format("{} {}", doing, path));
}

Status WriteAll(int fd, std::span<const std::byte> bytes, std::string_view doing) {
  return WriteUntilDone(bytes, doing, [fd](std::span<const std::byte> rest) {
    return ::write(fd, rest.data(), rest.size());
  });
}

Status WriteAllAt(int fd, std::span<const std::byte> bytes, std::uint64_t offset,
                  std::string_view doing) {
  const std::uint64_t end = offset + bytes.size();
  return WriteUntilDone(bytes, doing, [fd, end](std::span<const std::byte> rest) {
    return ::pwrite(fd, rest.data(), rest.size(), static_cast<off_t>(end - rest.size()));
  });
}

}  // namespace headrace
