// One result that will arrive later: the seam between the event loops and straight-line code.
//
//   auto [pending, promise] = MakePending<Buffer>();
//   loop side:    promise.OnCancel([…]{ … });  …  promise.Set(std::move(buffer));
//   caller side:  Result<Buffer> r = pending.Wait(stop, deadline);
//
// Invariants:
//  - A result is set at most once and taken at most once.
//  - Dropping a Pending cancels: the OnCancel callback runs once, on the dropping thread, unless
//  the
//    result was already set. Where the operation writes into the caller's memory
//    (Promise::WritesToCaller), dropping also waits until the Promise was set or dropped, because
//    before that the loop may still write.
//  - A Promise dropped without a result sets kCancelled, so a Wait never hangs on a dead producer.
//  - Callbacks run with no lock of ours held.
//  - In a forked child an inherited Pending is let go of without touching its lock (base/fork.h).
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/deadline.h"
#include "base/fork.h"
#include "base/wait.h"
#include "headrace/status.h"

namespace headrace {

namespace internal {

template <typename T>
struct PendingState {
  std::mutex mu;
  std::condition_variable changed;
  std::optional<Result<T>> result;  // guarded by mu
  std::function<void()> on_ready;   // guarded by mu
  std::function<void()> on_cancel;  // guarded by mu
  bool settled = false;             // guarded by mu; the producer is done
  bool cancelled = false;           // guarded by mu
  bool writes_to_caller = false;    // guarded by mu
  const std::uint64_t generation = ForkGeneration();
};

}  // namespace internal

template <typename T>
class Promise {
 public:
  Promise() = default;
  explicit Promise(std::shared_ptr<internal::PendingState<T>> state) : state_(std::move(state)) {}
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&& other) noexcept {
    Abandon();
    state_ = std::move(other.state_);
    return *this;
  }
  ~Promise() { Abandon(); }

  bool valid() const { return state_ != nullptr; }

  // Settles the operation. REQUIRES: valid().
  void Set(Result<T> result) {
    auto state = std::move(state_);
    std::function<void()> ready;
    std::function<void()> drop;  // destroyed after the lock: it may own the operation
    {
      std::lock_guard lock(state->mu);
      state->result.emplace(std::move(result));
      state->settled = true;
      ready = std::move(state->on_ready);
      drop = std::move(state->on_cancel);
      state->changed.notify_all();
    }
    if (ready) ready();
  }

  // `callback` runs when the caller loses interest; at once when that has happened already.
  void OnCancel(std::function<void()> callback) {
    {
      std::lock_guard lock(state_->mu);
      if (!state_->cancelled) {
        state_->on_cancel = std::move(callback);
        return;
      }
    }
    callback();
  }

  bool cancelled() const {
    std::lock_guard lock(state_->mu);
    return state_->cancelled;
  }

  // Declares that the operation writes into memory which the caller owns.
  void WritesToCaller() {
    std::lock_guard lock(state_->mu);
    state_->writes_to_caller = true;
  }

 private:
  void Abandon() {
    if (!state_) return;
    if (state_->generation != ForkGeneration()) {
      new std::shared_ptr<internal::PendingState<T>>(std::move(state_));
      return;
    }
    Set(Status(StatusCode::kCancelled, "the operation was dropped before it ended"));
  }

  std::shared_ptr<internal::PendingState<T>> state_;
};

template <typename T>
class [[nodiscard]] Pending {
 public:
  Pending() = default;
  explicit Pending(std::shared_ptr<internal::PendingState<T>> state) : state_(std::move(state)) {}
  // A result that is there already.
  static Pending Ready(Result<T> result) {
    auto state = std::make_shared<internal::PendingState<T>>();
    state->result.emplace(std::move(result));
    state->settled = true;
    return Pending(std::move(state));
  }
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other) noexcept {
    if (this != &other) {
      Cancel();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~Pending() { Cancel(); }

  // False once the result was taken, and for a default-constructed Pending.
  bool valid() const { return state_ != nullptr; }

  bool ready() const {
    std::lock_guard lock(state_->mu);
    return state_->settled;
  }

  // Blocks until the result is there and takes it. When `stop` is requested or `deadline` passes
  // first, the operation is cancelled and the answer is kCancelled or kTimeout. REQUIRES: valid().
  Result<T> Wait(const std::stop_token& stop = {}, Deadline deadline = {}) {
    switch (WaitReady(stop, deadline)) {
      case WaitEnd::kDone:
        return Take();
      case WaitEnd::kStopped:
        Cancel();
        return Status(StatusCode::kCancelled, "stopped by the caller");
      case WaitEnd::kDeadline:
        break;
    }
    Cancel();
    return Status(StatusCode::kTimeout, "the deadline passed");
  }

  // Blocks until the result is there (kDone), or `stop` or `deadline` comes first; the operation
  // goes on in any case. REQUIRES: valid().
  WaitEnd WaitReady(const std::stop_token& stop = {}, Deadline deadline = {}) {
    auto& state = *state_;
    std::unique_lock lock(state.mu);
    return WaitUntilDone(state.changed, lock, stop, deadline, [&] { return state.settled; });
  }

  // The result that is there, without taking it; from any thread. REQUIRES: ready(), and that
  // nobody takes it meanwhile.
  const Result<T>& value() const { return *state_->result; }

  // Takes a result that is there. REQUIRES: ready().
  Result<T> Take() {
    auto state = std::move(state_);
    std::lock_guard lock(state->mu);
    return std::move(*state->result);
  }

  // `callback` runs once when the result is there: at once, on this thread, when it already is;
  // otherwise on the producer's thread, where it must be short and must not wait.
  void OnReady(std::function<void()> callback) {
    {
      std::lock_guard lock(state_->mu);
      if (!state_->settled) {
        state_->on_ready = std::move(callback);
        return;
      }
    }
    callback();
  }

  // Loses interest; returns when no byte will be written to the caller's memory any more.
  void Cancel() {
    if (!state_) return;
    auto state = std::move(state_);
    if (state->generation != ForkGeneration()) {
      new std::shared_ptr<internal::PendingState<T>>(std::move(state));
      return;
    }
    std::function<void()> cancel;
    std::function<void()> drop;
    {
      std::lock_guard lock(state->mu);
      if (state->settled) return;
      state->cancelled = true;
      cancel = std::move(state->on_cancel);
      drop = std::move(state->on_ready);
    }
    if (cancel) std::exchange(cancel, nullptr)();
    std::unique_lock lock(state->mu);
    if (state->writes_to_caller) state->changed.wait(lock, [&] { return state->settled; });
  }

 private:
  std::shared_ptr<internal::PendingState<T>> state_;
};

template <typename T>
std::pair<Pending<T>, Promise<T>> MakePending() {
  auto state = std::make_shared<internal::PendingState<T>>();
  return {Pending<T>(state), Promise<T>(state)};
}

// A Pending for what `convert` (Result<A> -> Result<B>) makes of another's result. `convert` runs
// on the thread that settles `source`; cancelling goes through to it.
template <typename B, typename A, typename F>
Pending<B> Map(Pending<A> source, F convert) {
  struct Link {
    Link(Pending<A> s, Promise<B> p, F f)
        : source(std::move(s)), promise(std::move(p)), convert(std::move(f)) {}
    std::mutex mu;
    Pending<A> source;  // guarded by mu
    Promise<B> promise;
    F convert;
  };
  auto [pending, promise] = MakePending<B>();
  auto link = std::make_shared<Link>(std::move(source), std::move(promise), std::move(convert));
  link->promise.OnCancel([weak = std::weak_ptr<Link>(link)] {
    std::shared_ptr<Link> held = weak.lock();
    if (held == nullptr) return;
    Pending<A> dropped;
    {
      std::lock_guard lock(held->mu);
      dropped = std::move(held->source);
    }
    dropped.Cancel();
  });
  link->source.OnReady([link] {
    std::unique_lock lock(link->mu);
    if (!link->source.valid()) return;  // cancelled; the promise ends with the link
    Result<A> result = link->source.Take();
    lock.unlock();
    link->promise.Set(link->convert(std::move(result)));
  });
  return std::move(pending);
}

}  // namespace headrace
