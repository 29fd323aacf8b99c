// How much memory the engine may take by default: a part of what this process may use.
#pragma once

#include <cstddef>
#include <string>

namespace headrace {

// The least memory limit, in bytes, of this process's cgroup and those above it (version 2 and 1);
// 0 where there is none. `root` stands before every path that is read: "" but in tests.
std::size_t CgroupMemoryLimit(const std::string& root = "");

// The default for one process, in bytes: an eighth of the machine's memory or the cgroup's limit,
// at most 2 GiB, divided by `processes_on_host` (>= 1), and never below 64 MiB.
std::size_t DefaultMemoryLimit(int processes_on_host);

// LOCAL_WORLD_SIZE as torchrun sets it, else 1.
int LocalProcesses();

}  // namespace headrace
