#include "base/budget.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <string>

#include "base/wait.h"

namespace headrace {

const char* ShareName(Share share) {
  static constexpr const char* kNames[kShareCount] = {"reads", "look-ahead", "uploads", "cache",
                                                      "shuffle"};
  return kNames[static_cast<std::size_t>(share)];
}

struct Lease::State {
  struct Waiter {
    std::size_t bytes;
    std::condition_variable granted_changed;
    bool granted = false;
  };
  struct Account {
    std::size_t limit = 0;
    std::size_t in_use = 0;
    std::size_t parked = 0;  // of what is in use
    std::size_t peak = 0;
    std::list<Waiter*> waiters;
  };

  static bool Fits(const Account& account, std::size_t bytes, std::size_t spare = 0) {
    return account.in_use == 0 || account.in_use + bytes + spare <= account.limit;
  }
  // What a waiter is asked: see the two exceptions in the header.
  static bool Passes(const Account& account, std::size_t bytes) {
    return Fits(account, bytes) || account.parked == account.in_use;
  }
  static void Take(Account& account, std::size_t bytes) {
    account.in_use += bytes;
    account.peak = std::max(account.peak, account.in_use);
  }
  // REQUIRES: mu held.
  static void Serve(Account& account) {
    while (!account.waiters.empty() && Passes(account, account.waiters.front()->bytes)) {
      Waiter* waiter = account.waiters.front();
      account.waiters.pop_front();
      Take(account, waiter->bytes);
      waiter->granted = true;
      waiter->granted_changed.notify_all();
    }
  }
  Account& of(Share share) { return accounts[static_cast<std::size_t>(share)]; }

  std::mutex mu;
  std::array<Account, kShareCount> accounts;  // guarded by mu
};

struct Lease::Held {
  Held(std::shared_ptr<State> s, Share share, std::size_t n)
      : state(std::move(s)), account(state->of(share)), bytes(n) {}

  void SetParked(bool now) {
    std::lock_guard lock(state->mu);
    if (parked == now) return;
    parked = now;
    now ? account.parked += bytes : account.parked -= bytes;
    State::Serve(account);
  }
  void ShrinkTo(std::size_t left) {
    std::lock_guard lock(state->mu);
    account.in_use -= bytes - left;
    if (parked) account.parked -= bytes - left;
    bytes = left;
    State::Serve(account);
  }

  const std::shared_ptr<State> state;
  State::Account& account;
  std::size_t bytes;    // guarded by state->mu; changed by the lease's own thread only
  bool parked = false;  // guarded by state->mu
};

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    Release();
    held_ = std::move(other.held_);
  }
  return *this;
}

std::size_t Lease::bytes() const { return held_ == nullptr ? 0 : held_->bytes; }

void Lease::Release() {
  if (held_ != nullptr) held_->ShrinkTo(0);
  held_.reset();
}

void Lease::ShrinkTo(std::size_t bytes) {
  if (held_ != nullptr) held_->ShrinkTo(bytes);
}

void Lease::SetParked(bool parked) {
  if (held_ != nullptr) held_->SetParked(parked);
}

std::function<void()> Lease::Parker(std::size_t calls) const {
  return [weak = std::weak_ptr<Held>(held_),
          left = std::make_shared<std::atomic<std::size_t>>(calls)] {
    if (--*left != 0) return;
    if (const std::shared_ptr<Held> held = weak.lock()) held->SetParked(true);
  };
}

MemoryBudget::MemoryBudget(Limits limits) : state_(std::make_shared<Lease::State>()) {
  for (std::size_t i = 0; i < kShareCount; ++i) state_->accounts[i].limit = limits[i];
}

MemoryBudget::Limits MemoryBudget::Split(std::size_t total) {
  return {total / 8 * 3, total / 8 * 2, total / 8 * 3, 0, 0};
}

Result<Lease> MemoryBudget::Acquire(Share share, std::size_t bytes, const std::stop_token& stop,
                                    Deadline deadline) {
  Lease::State& state = *state_;
  Lease::State::Waiter waiter{.bytes = bytes};
  std::unique_lock lock(state.mu);
  Lease::State::Account& account = state.of(share);
  account.waiters.push_back(&waiter);
  Lease::State::Serve(account);
  const WaitEnd end =
      WaitUntilDone(waiter.granted_changed, lock, stop, deadline, [&] { return waiter.granted; });
  if (end == WaitEnd::kDone) return Lease(std::make_shared<Lease::Held>(state_, share, bytes));
  account.waiters.remove(&waiter);
  Lease::State::Serve(account);  // whoever stood behind us may fit now
  const std::string what =
      fmt::format("waiting for {} bytes of the {} share of the memory budget ({} of {} in use)",
                  bytes, ShareName(share), account.in_use, account.limit);
  return end == WaitEnd::kStopped ? Status(StatusCode::kCancelled, what + ": stopped by the caller")
                                  : Status(StatusCode::kTimeout, what + ": the deadline passed");
}

std::optional<Lease> MemoryBudget::TryAcquire(Share share, std::size_t bytes, std::size_t spare) {
  std::lock_guard lock(state_->mu);
  Lease::State::Account& account = state_->of(share);
  if (!account.waiters.empty() || !Lease::State::Fits(account, bytes, spare)) return std::nullopt;
  Lease::State::Take(account, bytes);
  return Lease(std::make_shared<Lease::Held>(state_, share, bytes));
}

std::size_t MemoryBudget::limit(Share share) const {
  std::lock_guard lock(state_->mu);
  return state_->of(share).limit;
}

std::size_t MemoryBudget::in_use(Share share) const {
  std::lock_guard lock(state_->mu);
  return state_->of(share).in_use;
}

std::size_t MemoryBudget::peak(Share share) const {
  std::lock_guard lock(state_->mu);
  return state_->of(share).peak;
}

}  // namespace headrace
