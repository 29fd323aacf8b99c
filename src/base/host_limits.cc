#include "base/host_limits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace headrace {
namespace {

// Whether a list like "cpu,memory" names the controller.
bool Names(std::string_view controllers, std::string_view controller) {
  while (!controllers.empty()) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == controller) return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

using Visit = std::function<void(const std::string& folder)>;

// The folders of the cgroup `path` and of those above it. A container often sees a path that is the
// host's: what is not there is for the visitor to pass over.
void VisitUpwards(const std::string& mount, std::string_view path, const Visit& visit) {
  if (path.starts_with("/..")) path = "/";  // outside of the cgroup namespace
  while (true) {
    while (path.ends_with('/')) path.remove_suffix(1);
    visit(mount + std::string(path) + "/");
    if (path.empty()) return;
    path = path.substr(0, path.rfind('/'));
  }
}

// This process's cgroups, from lines "0::/path" (version 2) and "4:memory:/path" (version 1): see
// cgroups(7).
void VisitGroups(const std::string& root, const std::string& controller, const Visit& version_two,
                 const Visit& version_one) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view path = std::string_view(line).substr(second + 1);
    const std::string_view controllers(line.data() + first + 1, second - first - 1);
    if (controllers.empty()) {
      VisitUpwards(root + "/sys/fs/cgroup", path, version_two);
    } else if (Names(controllers, controller)) {
      VisitUpwards(fmt::format("{}/sys/fs/cgroup/{}", root, controller), path, version_one);
    }
  }
}

}  // namespace

std::size_t CgroupMemoryLimit(const std::string& root) {
  std::uint64_t least = UINT64_MAX;
  const auto look = [&least](const std::string& path) {
    std::uint64_t bytes = 0;
    if (std::ifstream(path) >> bytes && bytes > 0) least = std::min(least, bytes);
  };
  VisitGroups(
      root, "memory", [&](const std::string& folder) { look(folder + "memory.max"); },  // or "max"
      [&](const std::string& folder) { look(folder + "memory.limit_in_bytes"); });
  return least == UINT64_MAX ? 0 : least;
}

double CgroupCpuLimit(const std::string& root) {
  double least = 0;
  const auto count = [&least](double quota, double period) {
    if (quota > 0 && period > 0 && (least == 0 || quota / period < least)) least = quota / period;
  };
  VisitGroups(
      root, "cpu",
      [&](const std::string& folder) {
        double quota = 0;  // "max 100000" where there is none
        double period = 0;
        if (std::ifstream(folder + "cpu.max") >> quota >> period) count(quota, period);
      },
      [&](const std::string& folder) {
        double quota = 0;  // -1 where there is none
        double period = 0;
        if (std::ifstream(folder + "cpu.cfs_quota_us") >> quota &&
            std::ifstream(folder + "cpu.cfs_period_us") >> period) {
          count(quota, period);
        }
      });
  return least;
}

int UsableCores() {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());  // by affinity
  const double quota = CgroupCpuLimit();
  const int usable = quota > 0 ? std::min(cores, static_cast<int>(std::ceil(quota))) : cores;
  return std::max(usable, 1);
}

std::size_t DefaultMemoryLimit(int processes_on_host) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  std::size_t memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (const std::size_t limit = CgroupMemoryLimit(); limit != 0) memory = std::min(memory, limit);
  const std::size_t host = std::min(memory / 8, 2048 * kMiB);
  return std::max(host / static_cast<std::size_t>(std::max(processes_on_host, 1)), 64 * kMiB);
}

int LocalProcesses() {
  const char* text = std::getenv("LOCAL_WORLD_SIZE");
  const int n = text != nullptr ? std::atoi(text) : 1;
  return std::max(n, 1);
}

}  // namespace headrace
