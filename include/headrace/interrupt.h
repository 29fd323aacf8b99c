// Letting a thread that waits inside the engine notice something that cannot wake it, such as a
// signal that a Python interpreter wants to handle on that very thread.
#pragma once

namespace headrace {

// While it lives, every wait of the engine on this thread calls `check` about every 50 ms, and ends
// as if its stop token had been triggered (kCancelled) once `check` returns true. Not to be nested.
class ScopedInterruptCheck {
 public:
  using Check = bool (*)();
  explicit ScopedInterruptCheck(Check check);
  ~ScopedInterruptCheck();
  ScopedInterruptCheck(const ScopedInterruptCheck&) = delete;
  ScopedInterruptCheck& operator=(const ScopedInterruptCheck&) = delete;

  // The check installed on this thread, or null.
  static Check Current();
};

}  // namespace headrace
