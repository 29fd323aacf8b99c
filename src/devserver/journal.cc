#include "devserver/journal.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/file_io.h"
#include "base/macros.h"

namespace headrace::devserver {
namespace {

Status AppendText(int fd, std::string_view text, const std::string& path) {
  return WriteAll(fd, std::as_bytes(std::span(text)), "writing " + path);
}

}  // namespace

bool Journal::MayBeOurs(const std::string& path) {
  constexpr std::string_view kBucket = R"({"b":")";
  std::string begin(kBucket.size(), '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(in.gcount()));
  return kBucket.starts_with(begin);
}

Result<std::unique_ptr<Journal>> Journal::Open(
    const std::string& path, const std::function<Status(const nlohmann::json&)>& replay) {
  std::size_t records = 0;
  std::streamoff good_end = 0;
  std::ifstream in(path, std::ios::binary);
  std::string line;
  while (in && std::getline(in, line)) {
    if (in.eof()) break;  // no newline: cut off while it was written
    nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
    if (record.is_discarded()) {
      return Status(StatusCode::kIo,
                    fmt::format("{} record {} is not JSON: the store was damaged", path, records));
    }
    RETURN_IF_ERROR(replay(record).WithContext(fmt::format("{} record {}", path, records)));
    ++records;
    good_end += static_cast<std::streamoff>(line.size()) + 1;
  }
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, "opening", path);
  if (ftruncate(fd, good_end) != 0) {
    Status error = ErrnoStatus(errno, "truncating", path);
    close(fd);
    return error;
  }
  return std::unique_ptr<Journal>(new Journal(path, fd, records));
}

Journal::~Journal() { close(fd_); }

Status Journal::Append(const nlohmann::json& record) {
  std::string line = record.dump();
  line += '\n';
  off_t end = lseek(fd_, 0, SEEK_END);
  Status status = AppendText(fd_, line, path_);
  if (!status.ok()) {
    // A half record in the middle of the log would make the store unreadable.
    if (ftruncate(fd_, end) != 0)
      return status.WithContext("and the journal could not be repaired");
    return status;
  }
  ++records_;
  return Status();
}

Status Journal::Rewrite(
    const std::function<Status(const std::function<Status(const nlohmann::json&)>&)>& write) {
  std::string temporary = path_ + ".new";
  int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, "creating", temporary);
  std::string pending;
  std::size_t records = 0;
  Status status = write([&](const nlohmann::json& record) -> Status {
    pending += record.dump();
    pending += '\n';
    ++records;
    if (pending.size() < (std::size_t{1} << 20)) return Status();
    Status written = AppendText(fd, pending, temporary);
    pending.clear();
    return written;
  });
  if (status.ok()) status = AppendText(fd, pending, temporary);
  if (status.ok() && rename(temporary.c_str(), path_.c_str()) != 0) {
    status = ErrnoStatus(errno, "renaming", temporary);
  }
  if (!status.ok()) {
    close(fd);
    unlink(temporary.c_str());
    return status;
  }
  close(fd_);
  fd_ = fd;
  records_ = records;
  return Status();
}

}  // namespace headrace::devserver
