#include "datagen/write_file.h"

#include <cerrno>
#include <fcntl.h>
#include <span>
#include <unistd.h>
#include <utility>

#include "base/file_io.h"
#include "base/macros.h"

namespace headrace::datagen {
FileWriter::FileWriter(std::filesystem::path target)
    : target_(std::move(target)), partial_(target_.string() + ".part") {}

FileWriter::~FileWriter() {
  if (fd_.valid()) unlink(partial_.c_str());
}

Status FileWriter::Failed(int error) const {
  return ErrnoStatus(error, "writing " + target_.string());
}

Status FileWriter::Open() {
  fd_ = ScopedFd(open(partial_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666));
  return fd_.valid() ? Status() : Failed(errno);
}

Status FileWriter::Write(std::string_view bytes) {
  return WriteAll(fd_.get(), std::as_bytes(std::span(bytes)), "writing " + target_.string());
}

Status FileWriter::Publish() {
  int error = fd_.Close();
  if (error == 0 && rename(partial_.c_str(), target_.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlink(partial_.c_str());
  return Failed(error);
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
  return error ? ErrnoStatus(error.value(), "making folder " + folder.string()) : Status();
}

}  // namespace headrace::datagen
