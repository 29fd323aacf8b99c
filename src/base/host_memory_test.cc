#include "base/host_memory.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace headrace {
namespace {

namespace fs = std::filesystem;

// A root folder with the files of /proc and /sys that a test writes.
class CgroupMemory : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_); }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  std::size_t Limit() const { return CgroupMemoryLimit(root_.string()); }

  const fs::path root_ =
      fs::path(testing::TempDir()) / ("headrace-cgroup-" + std::to_string(getpid()));
};

TEST_F(CgroupMemory, IsTheProcessesOwn) {
  Write("proc/self/cgroup", "0::/jobs/train");
  Write("sys/fs/cgroup/jobs/train/memory.max", "3000");
  EXPECT_EQ(Limit(), 3000U);
}

TEST_F(CgroupMemory, IsTheLeastOfThoseAbove) {
  Write("proc/self/cgroup", "0::/jobs/train/rank0");
  Write("sys/fs/cgroup/jobs/train/rank0/memory.max", "max");
  Write("sys/fs/cgroup/jobs/train/memory.max", "5000");
  Write("sys/fs/cgroup/jobs/memory.max", "4000");
  EXPECT_EQ(Limit(), 4000U);
}

TEST_F(CgroupMemory, OfVersionOneStandsBelowItsController) {
  Write("proc/self/cgroup", "12:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  Write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "7000");
  EXPECT_EQ(Limit(), 7000U);
}

TEST_F(CgroupMemory, OfAContainerStandsAtTheRoot) {
  Write("sys/fs/cgroup/memory.max", "8000");
  for (const char* path : {"/", "/system.slice/of-the-host", "/../other"}) {
    Write("proc/self/cgroup", std::string("0::") + path);
    EXPECT_EQ(Limit(), 8000U) << path;
  }
}

TEST_F(CgroupMemory, MayHaveNoLimit) {
  EXPECT_EQ(Limit(), 0U);
  Write("proc/self/cgroup", "nonsense\n0::/a");
  Write("sys/fs/cgroup/a/memory.max", "max");
  EXPECT_EQ(Limit(), 0U);
}

TEST(DefaultMemoryLimit, IsDividedButNeverBelow64MiB) {
  EXPECT_GE(DefaultMemoryLimit(1), DefaultMemoryLimit(4));
  EXPECT_EQ(DefaultMemoryLimit(1'000'000), std::size_t{64} << 20);
}

}  // namespace
}  // namespace headrace
