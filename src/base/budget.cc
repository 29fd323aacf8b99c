#include "base/budget.h"

#include <algorithm>
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
    std::size_t peak = 0;
    SteadyTime moved{};  // when bytes were last given back
    std::list<Waiter*> waiters;
  };

  bool Fits(const Account& account, std::size_t bytes, std::size_t spare = 0) const {
    return account.in_use == 0 || account.in_use + bytes + spare <= account.limit;
  }
  void Take(Account& account, std::size_t bytes) {
    account.in_use += bytes;
    account.peak = std::max(account.peak, account.in_use);
  }
  // REQUIRES: mu held.
  void Serve(Account& account) {
    while (!account.waiters.empty() && Fits(account, account.waiters.front()->bytes)) {
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

Lease::Lease(Lease&& other) noexcept
    : state_(std::move(other.state_)),
      share_(other.share_),
      bytes_(std::exchange(other.bytes_, 0)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    Release();
    state_ = std::move(other.state_);
    share_ = other.share_;
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void Lease::Release() {
  if (state_ != nullptr) ShrinkTo(0);
  state_.reset();
}

void Lease::ShrinkTo(std::size_t bytes) {
  if (state_ == nullptr) return;
  std::lock_guard lock(state_->mu);
  State::Account& account = state_->of(share_);
  account.in_use -= bytes_ - bytes;
  account.moved = std::chrono::steady_clock::now();
  bytes_ = bytes;
  state_->Serve(account);
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
  if (account.waiters.empty() && state.Fits(account, bytes)) {
    state.Take(account, bytes);
    return Lease(state_, share, bytes);
  }
  account.waiters.push_back(&waiter);
  const SteadyTime began = std::chrono::steady_clock::now();
  WaitEnd end = WaitEnd::kDeadline;
  for (SteadyTime now = began; end == WaitEnd::kDeadline && !deadline.passed(now);
       now = std::chrono::steady_clock::now()) {
    const SteadyTime stuck = std::max(began, account.moved) + kPatience;
    if (now >= stuck) {
      account.waiters.remove(&waiter);
      state.Take(account, bytes);
      return Lease(state_, share, bytes);
    }
    end = WaitUntilDone(waiter.granted_changed, lock, stop,
                        deadline.Earlier(Deadline::After(stuck - now)),
                        [&] { return waiter.granted; });
  }
  if (end == WaitEnd::kDone) return Lease(state_, share, bytes);
  account.waiters.remove(&waiter);
  state.Serve(account);  // whoever stood behind us may fit now
  const std::string what =
      fmt::format("waiting for {} bytes of the {} share of the memory budget ({} of {} in use)",
                  bytes, ShareName(share), account.in_use, account.limit);
  return end == WaitEnd::kStopped ? Status(StatusCode::kCancelled, what + ": stopped by the caller")
                                  : Status(StatusCode::kTimeout, what + ": the deadline passed");
}

std::optional<Lease> MemoryBudget::TryAcquire(Share share, std::size_t bytes, std::size_t spare) {
  std::lock_guard lock(state_->mu);
  Lease::State::Account& account = state_->of(share);
  if (!account.waiters.empty() || !state_->Fits(account, bytes, spare)) return std::nullopt;
  state_->Take(account, bytes);
  return Lease(state_, share, bytes);
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
