#include "base/host_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <unistd.h>

namespace headrace {
namespace {

// Smallest limit in the files `name` of the cgroup `path` and of those above it; UINT64_MAX when
// none has one. A container often sees a path that is the host's: what is not there is passed over.
std::uint64_t LeastLimit(const std::string& mount, std::string_view path, const char* name) {
  if (path.starts_with("/..")) path = "/";  // outside of the cgroup namespace
  std::uint64_t least = UINT64_MAX;
  while (true) {
    while (path.ends_with('/')) path.remove_suffix(1);
    std::ifstream file(mount + std::string(path) + "/" + name);
    std::uint64_t bytes = 0;
    if (file >> bytes && bytes > 0) least = std::min(least, bytes);  // "max" does not parse
    if (path.empty()) return least;
    path = path.substr(0, path.rfind('/'));
  }
}

// Whether a list like "cpu,memory" names the memory controller.
bool NamesMemory(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "memory") return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

std::size_t CgroupMemoryLimit(const std::string& root) {
  std::uint64_t least = UINT64_MAX;
  std::ifstream groups(root + "/proc/self/cgroup");
  // Lines "0::/path" (version 2) and "4:memory:/path" (version 1); see cgroups(7).
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view path = std::string_view(line).substr(second + 1);
    const std::string_view controllers(line.data() + first + 1, second - first - 1);
    if (controllers.empty()) {
      least = std::min(least, LeastLimit(root + "/sys/fs/cgroup", path, "memory.max"));
    } else if (NamesMemory(controllers)) {
      least = std::min(least,
                       LeastLimit(root + "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
    }
  }
  return least == UINT64_MAX ? 0 : least;
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
