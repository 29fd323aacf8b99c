// Waiting for whichever of many Pendings is ready first.
//
//   CompletionQueue<int> done;
//   for (…) done.Watch(pending[i], i);
//   while (…) { std::optional<int> i = done.Next(stop, deadline); pending[*i].Take(); }
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/deadline.h"
#include "base/pending.h"
#include "base/wait.h"

namespace headrace {

// One consumer thread; producers are the threads that settle the Pendings. A Pending that is
// watched may outlive the queue.
template <typename Tag>
class CompletionQueue {
 public:
  // `first`, where given, runs when `pending` is ready, before its tag is there: on the thread that
  // settles it.
  template <typename T>
  void Watch(Pending<T>& pending, Tag tag, std::function<void()> first = {}) {
    pending.OnReady([state = state_, tag = std::move(tag), first = std::move(first)]() mutable {
      if (first) first();
      bool wake = false;
      {
        std::lock_guard lock(state->mu);
        state->ready.push_back(std::move(tag));
        wake = state->awaited != 0 && state->ready.size() >= state->awaited;
        if (wake) state->awaited = 0;
      }
      if (wake) state->changed.notify_one();
    });
  }

  // The tag of a Pending that is ready, in order of completion; nullopt when `stop` or `deadline`
  // came first.
  std::optional<Tag> Next(const std::stop_token& stop = {}, Deadline deadline = {}) {
    State& state = *state_;
    std::unique_lock lock(state.mu);
    WaitFor(1, lock, stop, deadline);
    if (state.ready.empty()) return std::nullopt;
    Tag tag = std::move(state.ready.front());
    state.ready.pop_front();
    return tag;
  }

  // Waits until `count` tags are there, or `stop` or `deadline` comes first: to be woken once for
  // several. REQUIRES: so many are still to come.
  WaitEnd WaitForSeveral(std::size_t count, const std::stop_token& stop, Deadline deadline) {
    std::unique_lock lock(state_->mu);
    return WaitFor(count, lock, stop, deadline);
  }

  bool Empty() const {
    std::lock_guard lock(state_->mu);
    return state_->ready.empty();
  }

 private:
  struct State {
    std::mutex mu;
    std::condition_variable changed;
    std::deque<Tag> ready;    // guarded by mu
    std::size_t awaited = 0;  // guarded by mu: somebody sleeps until `ready` has so many
  };

  WaitEnd WaitFor(std::size_t count, std::unique_lock<std::mutex>& lock,
                  const std::stop_token& stop, Deadline deadline) {
    State& state = *state_;
    return WaitUntilDone(state.changed, lock, stop, deadline, [&] {
      const bool enough = state.ready.size() >= count;
      state.awaited = enough ? 0 : count;
      return enough;
    });
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace headrace
