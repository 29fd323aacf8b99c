// The one way the engine waits: for a condition, a stop token, a deadline, or an interrupt check.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "base/deadline.h"
#include "headrace/interrupt.h"

namespace headrace {

enum class WaitEnd { kDone, kStopped, kDeadline };

namespace internal {

// WaitUntilDone without what wakes it when `stop` is requested.
template <typename Done>
WaitEnd WaitForNotice(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                      const std::stop_token& stop, Deadline deadline, Done done) {
  while (!done()) {
    if (stop.stop_requested()) return WaitEnd::kStopped;
    const SteadyTime now = std::chrono::steady_clock::now();
    if (deadline.passed(now)) return WaitEnd::kDeadline;
    if (now >= ScopedInterruptCheck::Due()) {
      lock.unlock();  // the check may take the interpreter's lock
      const bool interrupted = ScopedInterruptCheck::Run();
      lock.lock();
      if (interrupted) return WaitEnd::kStopped;
      continue;
    }
    const SteadyTime until = std::min(ScopedInterruptCheck::Due(), deadline.at());
    if (until == SteadyTime::max()) {
      changed.wait(lock);
    } else {
      changed.wait_until(lock, until);
    }
  }
  return WaitEnd::kDone;
}

}  // namespace internal

// Waits on `changed`, whose mutex `lock` holds, until `done()` is true, and stays so. Whoever makes
// it true notifies `changed`; `mu` is the mutex behind `lock`, which is let go of meanwhile.
template <typename Done>
WaitEnd WaitUntilDone(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                      const std::stop_token& stop, Deadline deadline, Done done) {
  if (done()) return WaitEnd::kDone;
  std::mutex& mu = *lock.mutex();
  WaitEnd end = WaitEnd::kDone;
  // Without the lock at both ends: a token that was already triggered runs the callback here and
  // now, and the callback's destructor waits for one that runs elsewhere and wants the lock.
  lock.unlock();
  {
    std::stop_callback wake(stop, [&] {
      std::lock_guard guard(mu);
      changed.notify_all();
    });
    lock.lock();
    end = internal::WaitForNotice(changed, lock, stop, deadline, done);
    lock.unlock();
  }
  lock.lock();
  return done() ? WaitEnd::kDone : end;
}

}  // namespace headrace
