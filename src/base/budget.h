// The engine's one memory budget, in bytes, with named shares.
//
// A Lease stands for bytes that the engine holds. It ends when they are handed to the user, so that
// a user who keeps results never blocks the engine.
//
// Two rules keep it free of deadlock. Within one operation: *wait only while holding nothing of
// that share; otherwise TryAcquire and, when it fails, drain what you hold first.* Between the
// operations of one thread, which may hold results of one while it waits for another: *who waits
// while nothing moves passes.* A program that stands still helps nobody.
//
// Invariants:
//  - in_use(share) <= limit(share), but for two things: an item larger than its share passes when
//    it is alone, and a waiter passes when no byte of the share was given back for kPatience.
//  - Waiters are served in the order they came; TryAcquire never overtakes a waiter.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { Release(); }

  std::size_t bytes() const { return bytes_; }
  void Release();
  // Gives back all but `bytes`. REQUIRES: bytes <= this->bytes().
  void ShrinkTo(std::size_t bytes);

 private:
  friend class MemoryBudget;
  struct State;
  Lease(std::shared_ptr<State> state, Share share, std::size_t bytes)
      : state_(std::move(state)), share_(share), bytes_(bytes) {}
  std::shared_ptr<State> state_;
  Share share_ = Share::kReads;
  std::size_t bytes_ = 0;
};

// Safe for use from many threads. Leases may outlive it.
class MemoryBudget {
 public:
  // Bytes per share.
  using Limits = std::array<std::size_t, kShareCount>;
  explicit MemoryBudget(Limits limits);
  // Longer than a part takes on a slow link: there something moves, and the budget has to hold.
  static constexpr Duration kPatience = std::chrono::seconds(2);

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
