#include "support/standard_streams.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include "base/scoped_fd.h"
#include "commands/command.h"
#include "support/interrupt.h"

namespace headrace::cli {
namespace {

constexpr std::size_t kGathered = 1 << 16;  // bytes

std::optional<int> Number(const std::string& text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < 0) return std::nullopt;
  return number;
}

}  // namespace

void OpenClosedStreams() {
  // open() takes the lowest free descriptor, so in this order each gap is filled by its own.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The wrong way round for the first two, so that their use is an error and no empty success.
    const int mode = fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY;
    [[maybe_unused]] const int opened = ::open("/dev/null", mode);
  }
}

std::optional<int> DescriptorOf(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as the kernel has it
  std::error_code error;
  const std::filesystem::path own = std::filesystem::canonical("/proc/self/fd", error);
  if (error) return std::nullopt;
  std::filesystem::path at = std::filesystem::absolute(path, error);
  for (int i = 0; i < kMaxLinks && !error; ++i) {
    const std::filesystem::path folder = std::filesystem::canonical(at.parent_path(), error);
    if (error) break;
    if (folder == own) return Number(at.filename());
    const std::filesystem::path target = std::filesystem::read_symlink(at, error);
    at = folder / target;
  }
  return std::nullopt;
}

int LateError(int fd) { return ScopedFd(::dup(fd)).Close(); }

void Output::Line(std::string_view line) {
  text_ += line;
  text_ += '\n';
  if (text_.size() > kGathered) Flush();
}

void Output::Flush() {
  if (ok() && !text_.empty() &&
      (std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size() ||
       std::fflush(file_) != 0)) {
    error_ = errno;
  }
  text_.clear();
}

int Output::Finish(std::string_view who, int exit_code) {
  Flush();
  if (ok()) error_ = LateError(::fileno(file_));
  if (ok()) return exit_code;
  if (error_ == EPIPE) {
    if (exit_code == kExitOk) DieOf(SIGPIPE);
    return exit_code;
  }
  PrintError("{}: writing to standard {}: {}\n", who, file_ == stdout ? "output" : "error",
             std::strerror(error_));
  return kExitFailed;
}

}  // namespace headrace::cli
