#include "base/buffer_pool.h"

#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <vector>

#include "base/fork.h"

namespace headrace {
namespace {

constexpr std::size_t kMapFrom = std::size_t{2} << 20;
constexpr std::size_t kSmallest = 4096;

// Four steps per power of two: 4, 5, 6, 7, 8, 10, 12, 14, 16 KiB, …
std::size_t RoundUp(std::size_t size) {
  if (size <= kSmallest) return kSmallest;
  const std::size_t step = std::size_t{1} << (std::bit_width(size - 1) - 3);
  return (size + step - 1) / step * step;
}

std::byte* Map(std::size_t capacity) {
  if (capacity < kMapFrom) {
    void* p = std::malloc(capacity);
    if (p == nullptr) throw std::bad_alloc();
    return static_cast<std::byte*>(p);
  }
  // Huge pages need 2 MiB alignment: map too much and cut both ends off.
  const std::size_t wide = capacity + kMapFrom;
  void* p = mmap(nullptr, wide, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<std::byte*>(p);
  const std::size_t over = reinterpret_cast<std::uintptr_t>(start) % kMapFrom;
  const std::size_t skip = over == 0 ? 0 : kMapFrom - over;
  std::byte* const aligned = start + skip;
  if (skip > 0) munmap(start, skip);
  if (skip < kMapFrom) munmap(aligned + capacity, kMapFrom - skip);
  madvise(aligned, capacity, MADV_HUGEPAGE);
  return aligned;
}

void Unmap(std::byte* data, std::size_t capacity) {
  if (capacity < kMapFrom) {
    std::free(data);
  } else {
    munmap(data, capacity);
  }
}

}  // namespace

struct BufferPool::State {
  explicit State(std::size_t retain_limit) : retain(retain_limit) {}
  ~State() {
    for (auto& [capacity, list] : free) {
      for (std::byte* data : list) Unmap(data, capacity);
    }
  }

  std::byte* Take(std::size_t capacity) {
    {
      std::lock_guard lock(mu);
      auto it = free.find(capacity);
      if (it != free.end() && !it->second.empty()) {
        std::byte* data = it->second.back();
        it->second.pop_back();
        retained -= capacity;
        return data;
      }
    }
    return Map(capacity);
  }

  void Return(std::byte* data, std::size_t capacity) {
    // Another thread of the parent may have held the lock at the fork.
    if (generation != ForkGeneration()) return;
    std::vector<std::pair<std::byte*, std::size_t>> surplus;
    {
      std::lock_guard lock(mu);
      // What was used last is wanted next: other sizes make room for it, the largest first.
      for (auto it = free.rbegin(); it != free.rend() && retained + capacity > retain;) {
        if (it->first == capacity || it->second.empty()) {
          ++it;
          continue;
        }
        surplus.emplace_back(it->second.back(), it->first);
        it->second.pop_back();
        retained -= it->first;
      }
      if (retained + capacity <= retain) {
        free[capacity].push_back(data);
        retained += capacity;
      } else {
        surplus.emplace_back(data, capacity);
      }
    }
    for (const auto& [memory, size] : surplus) Unmap(memory, size);
  }

  const std::size_t retain;
  const std::uint64_t generation = ForkGeneration();
  std::mutex mu;
  std::map<std::size_t, std::vector<std::byte*>> free;  // guarded by mu; by capacity
  std::size_t retained = 0;                             // guarded by mu
};

BufferPool::BufferPool(std::size_t retain) : state_(std::make_shared<State>(retain)) {}

Buffer BufferPool::Allocate(std::size_t size) {
  if (size == 0) return {};
  const std::size_t capacity = RoundUp(size);
  std::byte* data = state_->Take(capacity);
  std::shared_ptr<void> owner(
      data, [state = state_, capacity](std::byte* bytes) { state->Return(bytes, capacity); });
  return Buffer(std::move(owner), data, size);
}

std::size_t BufferPool::retained() const {
  std::lock_guard lock(state_->mu);
  return state_->retained;
}

}  // namespace headrace
