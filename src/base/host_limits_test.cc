#include "base/host_limits.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace headrace {
namespace {

namespace fs = std::filesystem;

// A root folder with the files of /proc and /sys that a test writes.
class Cgroup : public testing::Test {
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

TEST_F(Cgroup, MemoryIsTheProcessesOwn) {
  Write("proc/self/cgroup", "0::/jobs/train");
  Write("sys/fs/cgroup/jobs/train/memory.max", "3000");
  EXPECT_EQ(Limit(), 3000U);
}

TEST_F(Cgroup, MemoryIsTheLeastOfThoseAbove) {
  Write("proc/self/cgroup", "0::/jobs/train/rank0");
  Write("sys/fs/cgroup/jobs/train/rank0/memory.max", "max");
  Write("sys/fs/cgroup/jobs/train/memory.max", "5000");
  Write("sys/fs/cgroup/jobs/memory.max", "4000");
  EXPECT_EQ(Limit(), 4000U);
}

TEST_F(Cgroup, MemoryOfVersionOneStandsBelowItsController) {
  Write("proc/self/cgroup", "12:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  Write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "7000");
  EXPECT_EQ(Limit(), 7000U);
}

TEST_F(Cgroup, MemoryOfAContainerStandsAtTheRoot) {
  Write("sys/fs/cgroup/memory.max", "8000");
  for (const char* path : {"/", "/system.slice/of-the-host", "/../other"}) {
    Write("proc/self/cgroup", std::string("0::") + path);
    EXPECT_EQ(Limit(), 8000U) << path;
  }
}

TEST_F(Cgroup, MemoryMayHaveNoLimit) {
  EXPECT_EQ(Limit(), 0U);
  Write("proc/self/cgroup", "nonsense\n0::/a");
  Write("sys/fs/cgroup/a/memory.max", "max");
  EXPECT_EQ(Limit(), 0U);
}

TEST_F(Cgroup, CpuIsTheLeastQuota) {
  Write("proc/self/cgroup", "0::/jobs/train");
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 0);
  Write("sys/fs/cgroup/jobs/train/cpu.max", "max 100000");
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 0);
  Write("sys/fs/cgroup/jobs/cpu.max", "150000 100000");
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 1.5);
}

TEST_F(Cgroup, CpuOfVersionOneIsTwoFiles) {
  Write("proc/self/cgroup", "3:cpu,cpuacct:/docker/abc");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 0);
  Write("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "200000");
  Write("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000");
  EXPECT_EQ(CgroupCpuLimit(root_.string()), 2);
}

TEST(UsableCores, AreOneAtLeast) { EXPECT_GE(UsableCores(), 1); }

TEST(DefaultMemoryLimit, IsDividedButNeverBelow64MiB) {
  EXPECT_GE(DefaultMemoryLimit(1), DefaultMemoryLimit(4));
  EXPECT_EQ(DefaultMemoryLimit(1'000'000), std::size_t{64} << 20);
}

}  // namespace
}  // namespace headrace
