#include "base/file_io.h"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <unistd.h>

namespace headrace {
namespace {

TEST(ErrnoStatus, SaysWhatWasBeingDone) {
  const Status status = ErrnoStatus(ENOSPC, "writing out/x");
  EXPECT_EQ(status.code(), StatusCode::kNoSpace);
  EXPECT_EQ(status.message(), "writing out/x: No space left on device");
  EXPECT_EQ(ErrnoStatus(ENOTDIR, "").code(), StatusCode::kNotFound);
  EXPECT_EQ(ErrnoStatus(EROFS, "").code(), StatusCode::kAccessDenied);
  EXPECT_EQ(ErrnoStatus(EEXIST, "").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(ErrnoStatus(EIO, "").code(), StatusCode::kIo);
}

TEST(WriteAll, GoesOnWhereAPipeTookLess) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string bytes(1 << 20, 'x');  // a pipe takes 64 KiB at once
  std::jthread writer([&] {
    EXPECT_TRUE(WriteAll(ends[1], std::as_bytes(std::span(bytes)), "writing").ok());
    close(ends[1]);
  });
  std::size_t read_bytes = 0;
  char piece[5000];
  for (ssize_t n = 0; (n = read(ends[0], piece, sizeof piece)) > 0;) {
    read_bytes += static_cast<std::size_t>(n);
  }
  close(ends[0]);
  EXPECT_EQ(read_bytes, bytes.size());
}

TEST(WriteAllAt, LeavesThePlaceOfTheDescriptorAlone) {
  const std::string path = testing::TempDir() + "headrace-write-all-at-" + std::to_string(getpid());
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  unlink(path.c_str());
  const std::string bytes = "bytes";
  EXPECT_TRUE(WriteAllAt(fd, std::as_bytes(std::span(bytes)), 3, "writing").ok());
  EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 0);
  EXPECT_EQ(lseek(fd, 0, SEEK_END), 8);
  close(fd);
  EXPECT_EQ(WriteAllAt(fd, std::as_bytes(std::span(bytes)), 0, "writing").code(), StatusCode::kIo);
}

}  // namespace
}  // namespace headrace
