// The engine's one memory budget, in bytes, with named shares.
//
// A Lease stands for bytes that the engine holds. It ends when they are handed to the user, so that
// a user who keeps results never blocks the engine.
//
// Two rules keep it free of deadlock. Within one operation: *wait only while holding nothing of
// that share; otherwise TryAcquire and, when it fails, drain what you hold first.* Between the
// operations of one thread, which may hold results of one while it waits for another: *who waits
// while nothing moves passes.* A program that stands still helps nobody. What stands still says so:
// a lease is *parked* while its bytes wait for the user's thread to take them or to bring more.
//
// Invariants:
//  - in_use(share) <= limit(share), but for two things: an item larger than its share passes when
//    it is alone, and a waiter passes when all that is in use is parked.
//  - Waiters are served in the order they came; TryAcquire never overtakes a waiter.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "base/deadline.h"
#include "headrace/status.h"

namespace headrace {

// Look-ahead holds results that nobody waits for yet. It has a share of its own so that it can
// never keep a reader who does wait from its memory.
enum class Share : std::uint8_t { kReads, kLookAhead, kUploads, kCache, kShuffle };
inline constexpr std::size_t kShareCount = 5;
const char* ShareName(Share share);

class MemoryBudget;

// Move-only; gives its bytes back when destroyed.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept = default;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { Release(); }

  std::size_t bytes() const;
  void Release();
  // Gives back all but `bytes`. REQUIRES: bytes <= this->bytes().
  void ShrinkTo(std::size_t bytes);

  // Parked: nothing that goes on by itself will end this lease, only the thread that holds it.
  void SetParked(bool parked);
  // Parks it at the `calls`-th call, from any thread; does nothing once the lease has ended.
  std::function<void()> Parker(std::size_t calls = 1) const;

 private:
  friend class MemoryBudget;
  struct State;
  struct Held;
  explicit Lease(std::shared_ptr<Held> held) : held_(std::move(held)) {}
  std::shared_ptr<Held> held_;  // null: nothing
};

// Safe for use from many threads. Leases may outlive it.
class MemoryBudget {
 public:
  // Bytes per share.
  using Limits = std::array<std::size_t, kShareCount>;
  explicit MemoryBudget(Limits limits);

  // Splits `total` bytes: reads 3/8, look-ahead 2/8, uploads 3/8; the cache and the shuffle take
  // their part of the reads' share until there is one of them.
  static Limits Split(std::size_t total);

  // Waits until `bytes` are free; see the rule above. kCancelled or kTimeout when told to stop.
  Result<Lease> Acquire(Share share, std::size_t bytes, const std::stop_token& stop = {},
                        Deadline deadline = {});
  // nullopt when the bytes are not free at once, or others already wait. `spare` more have to be
  // free, unless nothing is in use: what takes as much as it gets leaves that to those who wait.
  std::optional<Lease> TryAcquire(Share share, std::size_t bytes, std::size_t spare = 0);

  std::size_t limit(Share share) const;
  std::size_t in_use(Share share) const;
  std::size_t peak(Share share) const;

 private:
  std::shared_ptr<Lease::State> state_;
};

}  // namespace headrace
