// A point in steady time after which a blocking call gives up.
#pragma once

#include <algorithm>
#include <chrono>

namespace headrace {

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

class Deadline {
 public:
  // Never passes.
  Deadline() = default;
  explicit Deadline(SteadyTime at) : at_(at) {}
  static Deadline Never() { return {}; }
  static Deadline After(Duration d) { return Deadline(std::chrono::steady_clock::now() + d); }

  bool never() const { return at_ == SteadyTime::max(); }
  bool passed(SteadyTime now = std::chrono::steady_clock::now()) const { return now >= at_; }
  SteadyTime at() const { return at_; }
  Deadline Earlier(Deadline other) const { return Deadline(std::min(at_, other.at_)); }

 private:
  SteadyTime at_ = SteadyTime::max();
};

}  // namespace headrace
