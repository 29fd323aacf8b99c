#include "support/streams.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/file_io.h"
#include "base/macros.h"
#include "support/interrupt.h"
#include "support/standard_streams.h"
#include "support/target_folder.h"

namespace headrace::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

// Waits until `fd` is ready for `events`; kCancelled when `stop` comes first.
Status WaitReady(int fd, short events, std::stop_token stop) {
  const ScopedFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::stop_callback on_stop(stop, [&wake] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(wake.get(), &one, sizeof one);
  });
  pollfd fds[2] = {{fd, events, 0}, {wake.get(), POLLIN, 0}};
  while (::poll(fds, 2, -1) < 0 && errno == EINTR) {
  }
  if (stop.stop_requested()) return Status(StatusCode::kCancelled, "stopped by the caller");
  return {};
}

// As write(), but never waiting for a pipe's reader: a pipe that polls as ready has room for a
// page, while a write of more blocks, where no stop is noticed.
ssize_t WriteSome(int fd, std::span<const std::byte> bytes) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode)) {
    return ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), 65536));
  }
  const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  const ssize_t n = ::pwritev2(fd, &piece, 1, -1, RWF_NOWAIT);
  if (n >= 0 || errno != EOPNOTSUPP) return n;  // pipes take it since Linux 6.4
  return ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
}

}  // namespace

Status WriteAll(int fd, std::span<const std::byte> bytes, std::stop_token stop) {
  while (!bytes.empty()) {
    RETURN_IF_ERROR(WaitReady(fd, POLLOUT, stop));
    const ssize_t n = WriteSome(fd, bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0 && errno == EPIPE && fd == STDOUT_FILENO) DieOf(SIGPIPE);
    if (n < 0) {
      return ErrnoStatus(errno, fd == STDOUT_FILENO ? "writing to standard output" : "writing");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<std::size_t> ReadSome(int fd, std::span<std::byte> out, std::stop_token stop) {
  for (;;) {
    RETURN_IF_ERROR(WaitReady(fd, POLLIN, stop));
    const ssize_t n = ::read(fd, out.data(), out.size());
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR && errno != EAGAIN) return ErrnoStatus(errno, "reading standard input");
  }
}

Status StreamOut(Client& client, const std::string& uri, const ByteRange& range, int fd,
                 std::stop_token stop, const std::function<void(std::uint64_t)>& moved) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Reader> reader, client.OpenReader(uri));
  std::vector<std::byte> piece(kPiece);
  std::uint64_t offset = range.offset;
  std::uint64_t left = range.length;
  while (left > 0) {
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size()));
    ASSIGN_OR_RETURN(const std::size_t n,
                     reader->ReadAt(offset, std::span(piece).first(wanted), stop));
    if (n == 0) break;
    RETURN_IF_ERROR(WriteAll(fd, std::span(piece).first(n), stop));
    moved(n);
    offset += n;
    left -= n;
    if (n < wanted) break;
  }
  const int error = LateError(fd);
  return error == 0 ? Status() : ErrnoStatus(error, "writing");
}

Result<std::uint64_t> StreamIn(Client& client, int fd, const std::string& uri,
                               const PutOptions& options, std::stop_token stop,
                               const std::function<void(std::uint64_t)>& moved) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Writer> writer, client.OpenWriter(uri, options));
  std::vector<std::byte> piece(kPiece);
  for (;;) {
    Result<std::size_t> n = ReadSome(fd, piece, stop);
    if (!n.ok()) {
      writer->Abort();
      return n.status();
    }
    if (*n == 0) break;
    RETURN_IF_ERROR(writer->Write(std::span(piece).first(*n), stop));
    moved(*n);
  }
  ASSIGN_OR_RETURN(const std::string etag, writer->Close(stop));
  return writer->written();
}

}  // namespace headrace::cli
