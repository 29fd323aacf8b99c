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
        wake = std::exchange(state->awaited, false);
      }
      if (wake) state->changed.notify_one();
    });
  }

  // The tag of a Pending that is ready, in order of completion; nullopt when `stop` or `deadline`
  // came first.
  std::optional<Tag> Next(const std::stop_token& stop = {}, Deadline deadline = {}) {
    State& state = *state_;
    std::unique_lock lock(state.mu);
    WaitUntilDone(state.changed, lock, stop, deadline, [&] {
      state.awaited = state.ready.empty();
      return !state.awaited;
    });
    if (state.ready.empty()) return std::nullopt;
    Tag tag = std::move(state.ready.front());
    state.ready.pop_front();
    return tag;
  }

  bool Empty() const {
    std::lock_guard lock(state_->mu);
    return state_->ready.empty();
  }

 private:
  struct State {
    std::mutex mu;
    std::condition_variable changed;
    std::deque<Tag> ready;  // guarded by mu
    bool awaited = false;   // guarded by mu: somebody sleeps until `ready` has one
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace headrace
