#include "datagen/write_file.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/macros.h"

namespace headrace::datagen {
namespace {

Status FromErrno(int error, const std::filesystem::path& path) {
  StatusCode code = StatusCode::kIo;
  if (error == ENOSPC || error == EDQUOT) code = StatusCode::kNoSpace;
  if (error == EACCES || error == EPERM || error == EROFS) code = StatusCode::kAccessDenied;
  return Status(
      code, fmt::format("writing {}: {}", path.string(), std::generic_category().message(error)));
}

}  // namespace

FileWriter::FileWriter(std::filesystem::path target)
    : target_(std::move(target)), partial_(target_.string() + ".part") {}

FileWriter::~FileWriter() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(partial_.c_str());
}

Status FileWriter::Failed(int error) const { return FromErrno(error, target_); }

Status FileWriter::Open() {
  fd_ = open(partial_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  return fd_ < 0 ? Failed(errno) : Status();
}

Status FileWriter::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed(errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return Status();
}

Status FileWriter::Publish() {
  if (rename(partial_.c_str(), target_.c_str()) != 0) return Failed(errno);
  const int fd = std::exchange(fd_, -1);
  return close(fd) != 0 ? Failed(errno) : Status();
}

Status WriteFile(const std::filesystem::path& target, std::string_view bytes) {
  FileWriter file(target);
  RETURN_IF_ERROR(file.Open());
  RETURN_IF_ERROR(file.Write(bytes));
  return file.Publish();
}

Status MakeFolders(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? FromErrno(error.value(), folder) : Status();
}

}  // namespace headrace::datagen
