// Letting a thread that waits inside the engine notice something that cannot wake it, such as a
// signal that a Python interpreter wants to handle on that very thread.
#pragma once

#include <chrono>

namespace headrace {

// While it lives, the engine's waits on this thread call `check` about every 50 ms, counted across
// them. The wait during which `check` returns true ends as if its stop token had been triggered
// (kCancelled); later ones, such as those of cleaning up, are waits again. Not to be nested.
class ScopedInterruptCheck {
 public:
  using Check = bool (*)();
  explicit ScopedInterruptCheck(Check check);
  ~ScopedInterruptCheck();
  ScopedInterruptCheck(const ScopedInterruptCheck&) = delete;
  ScopedInterruptCheck& operator=(const ScopedInterruptCheck&) = delete;

  // Whether one lives on this thread.
  static bool Installed();
  // When this thread's check is to run next; max() when there is none.
  static std::chrono::steady_clock::time_point Due();
  // Runs it. REQUIRES: Installed().
  static bool Run();
};

}  // namespace headrace
