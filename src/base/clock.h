// Time as an input, so that tests decide what time it is.
#pragma once

#include <chrono>
#include <mutex>

#include "base/deadline.h"

namespace headrace {

// Safe for use from many threads.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual SteadyTime Now() const = 0;    // for durations
  virtual WallTime WallNow() const = 0;  // for dates: signatures, expiry of credentials
};

class RealClock final : public Clock {
 public:
  SteadyTime Now() const override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }
};

// Stands still until told to move; both times move together.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(WallTime start = WallTime(std::chrono::seconds(1'700'000'000)))
      : wall_(start), steady_(std::chrono::hours(1)) {}

  SteadyTime Now() const override {
    std::lock_guard lock(mu_);
    return steady_;
  }
  WallTime WallNow() const override {
    std::lock_guard lock(mu_);
    return wall_;
  }
  void Advance(Duration d) {
    std::lock_guard lock(mu_);
    steady_ += d;
    wall_ += std::chrono::duration_cast<WallTime::duration>(d);
  }

 private:
  mutable std::mutex mu_;
  WallTime wall_;      // guarded by mu_
  SteadyTime steady_;  // guarded by mu_
};

}  // namespace headrace
