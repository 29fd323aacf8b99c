#include "base/fork.h"

#include <atomic>
#include <pthread.h>

namespace headrace {
namespace {

std::atomic<std::uint64_t> generation{0};

// Registered when the library is loaded, before anything can be made that would need it.
const int kRegistered = pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1); });

}  // namespace

std::uint64_t ForkGeneration() {
  (void)kRegistered;
  return generation.load(std::memory_order_relaxed);
}

}  // namespace headrace
