// Which descriptors a loop has open, readable by a fork's child whatever the loop was doing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <unistd.h>

namespace headrace::net {

class DescriptorSet {
 public:
  void Insert(int fd) {
    if (fd >= 0 && fd < kMax) words_[Word(fd)].fetch_or(Bit(fd));
  }
  void Erase(int fd) {
    if (fd >= 0 && fd < kMax) words_[Word(fd)].fetch_and(~Bit(fd));
  }
  void CloseAll() {
    for (int fd = 0; fd < kMax; ++fd) {
      if ((words_[Word(fd)].load() & Bit(fd)) != 0) close(fd);
    }
  }

 private:
  static constexpr int kMax = 1 << 16;
  static std::size_t Word(int fd) { return static_cast<std::size_t>(fd) / 64; }
  static std::uint64_t Bit(int fd) { return std::uint64_t{1} << (fd % 64); }
  std::array<std::atomic<std::uint64_t>, kMax / 64> words_{};
};

}  // namespace headrace::net
