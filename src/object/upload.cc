#include "object/upload.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_io.h"
#include "base/macros.h"
#include "base/scoped_fd.h"
#include "object/writer.h"

namespace headrace::object {

Result<std::string> UploadFile(const Context& context, const std::string& path, store::Name name,
                               const PutOptions& options, const std::stop_token& stop,
                               const Progress& progress) {
  const ScopedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "opening", path);
  struct stat st {};
  if (fstat(file.get(), &st) != 0) return ErrnoStatus(errno, "reading", path);
  if (S_ISDIR(st.st_mode)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} is a directory; upload its files (cp --recursive)", path));
  }
  PutOptions with_size = options;
  const bool regular = S_ISREG(st.st_mode);
  if (regular) with_size.expected_size = static_cast<std::uint64_t>(st.st_size);
  Writer writer(&context, std::move(name), with_size);
  std::uint64_t reported = 0;
  auto report = [&] {
    if (progress && writer.acknowledged() > reported) progress(writer.acknowledged() - reported);
    reported = writer.acknowledged();
  };
  // All that a regular file promised; anything else until it ends.
  while (!regular || writer.written() < *with_size.expected_size) {
    ASSIGN_OR_RETURN(const std::span<std::byte> room, writer.Room(stop));
    const ssize_t n = read(file.get(), room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "reading", path);
    if (n == 0) break;
    writer.Filled(static_cast<std::size_t>(n));
    report();
  }
  std::byte more{};
  const bool grew = regular && read(file.get(), &more, 1) > 0;
  if (grew || (regular && writer.written() != *with_size.expected_size)) {
    return Status(
        StatusCode::kIo,
        fmt::format("{} changed while it was uploaded (it had {} bytes); nothing was stored", path,
                    st.st_size));
  }
  ASSIGN_OR_RETURN(std::string etag, writer.Close(stop));
  report();
  return etag;
}

}  // namespace headrace::object
