#include "s3/environment.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/file_io.h"
#include "s3/subprocess.h"

namespace headrace::s3 {
namespace {

constexpr std::size_t kMaxFile = 4 << 20;  // configuration and token files are a few KB

Result<std::string> ReadFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string text;
  ssize_t n = fd < 0 ? -1 : 0;
  if (fd >= 0) {
    char piece[16384];
    while ((n = ::read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR)) {
      if (n > 0) text.append(piece, static_cast<std::size_t>(n));
      if (text.size() > kMaxFile) break;
    }
  }
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (n < 0) return ErrnoStatus(error, "cannot read " + path);
  if (text.size() > kMaxFile) {
    return Status(StatusCode::kIo, fmt::format("{} is larger than {} bytes", path, kMaxFile));
  }
  return text;
}

}  // namespace

Environment Environment::Process() {
  return {.getenv = [](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            if (value == nullptr || *value == '\0') return std::nullopt;
            return value;
          },
          .read_file = ReadFile,
          .run = RunProgram};
}

bool Environment::Flag(const std::string& name) const {
  std::string value = Get(name);
  for (char& c : value) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return value == "true";
}

std::string Environment::ExpandHome(const std::string& path) const {
  if (path == "~") return Get("HOME", path);
  if (path.starts_with("~/")) return Get("HOME", "~") + path.substr(1);
  return path;
}

}  // namespace headrace::s3
