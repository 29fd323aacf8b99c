// How much of the host the engine may take by default: a part of what this process may use.
#pragma once

#include <cstddef>
#include <string>

namespace headrace {

// The least limit of this process's cgroup and those above it (version 2 and 1): bytes of memory;
// cores' worth of CPU time. 0 where there is none. `root` stands before every path that is read: ""
// but in tests.
std::size_t CgroupMemoryLimit(const std::string& root = "");
double CgroupCpuLimit(const std::string& root = "");

// Cores that this process may use, by its affinity and its cgroup's quota; at least 1.
int UsableCores();

// The default for one process, in bytes: an eighth of the machine's memory or the cgroup's limit,
// at most 2 GiB, divided by `processes_on_host` (>= 1), and never below 64 MiB.
std::size_t DefaultMemoryLimit(int processes_on_host);

// LOCAL_WORLD_SIZE as torchrun sets it, else 1.
int LocalProcesses();

}  // namespace headrace
