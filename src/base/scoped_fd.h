// An open file descriptor, closed with its owner.
#pragma once

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace headrace {

class ScopedFd {
 public:
  ScopedFd() = default;
  explicit ScopedFd(int fd) : fd_(fd) {}
  ScopedFd(ScopedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ScopedFd& operator=(ScopedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~ScopedFd() { Close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // For those that must not stay open until the owner's end; unless it was closed already. Returns
  // errno, 0 for none: some file systems (NFS, quotas) only tell here what could not be written.
  int Close() { return fd_ >= 0 && ::close(std::exchange(fd_, -1)) != 0 ? errno : 0; }

 private:
  int fd_ = -1;
};

}  // namespace headrace
