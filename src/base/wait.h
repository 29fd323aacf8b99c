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

// Waits on `changed`, whose mutex `lock` holds, until `done()` is true. Whoever makes it true
// notifies `changed`; `mu` is the mutex behind `lock`.
template <typename Done>
WaitEnd WaitUntilDone(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                      const std::stop_token& stop, Deadline deadline, Done done) {
  constexpr auto kInterruptPeriod = std::chrono::milliseconds(50);
  if (done()) return WaitEnd::kDone;
  const ScopedInterruptCheck::Check check = ScopedInterruptCheck::Current();
  std::mutex& mu = *lock.mutex();
  lock.unlock();  // a token that was already triggered runs the callback here and now
  std::stop_callback wake(stop, [&] {
    std::lock_guard guard(mu);
    changed.notify_all();
  });
  lock.lock();
  while (!done()) {
    if (stop.stop_requested()) return WaitEnd::kStopped;
    const SteadyTime now = std::chrono::steady_clock::now();
    if (deadline.passed(now)) return WaitEnd::kDeadline;
    if (check != nullptr) {
      lock.unlock();  // it may take the interpreter's lock
      const bool interrupted = check();
      lock.lock();
      if (done()) break;
      if (interrupted) return WaitEnd::kStopped;
      changed.wait_until(lock, std::min(now + kInterruptPeriod, deadline.at()));
    } else if (deadline.never()) {
      changed.wait(lock);
    } else {
      changed.wait_until(lock, deadline.at());
    }
  }
  return WaitEnd::kDone;
}

}  // namespace headrace
