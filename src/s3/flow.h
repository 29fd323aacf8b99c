// How many requests may be in flight, and when a late one is worth a second try. Pure: events and
// times come in, numbers come out. Used by one event loop each, so not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/deadline.h"

namespace headrace::s3 {

// Quantiles of the last 512 samples, computed anew every 32.
class LatencyWindow {
 public:
  void Add(Duration sample);
  std::size_t count() const { return count_; }
  Duration Quantile(double q) const;

 private:
  static constexpr std::size_t kSize = 512;
  std::array<Duration, kSize> ring_{};
  std::size_t count_ = 0;  // ever added
  mutable std::vector<Duration> sorted_;
  mutable std::size_t sorted_at_ = 0;
};

// Decides when a GET without a first byte gets a second attempt. The threshold follows the 97th
// percentile of the time from a request's start to its first byte, whichever attempt brought it.
// Hedges are paid from an allowance that grows by `kPerRequest` with each request: they can never
// exceed that part of all requests, and a burst of them is bounded.
class HedgeControl {
 public:
  static constexpr double kPerRequest = 0.07;

  void OnRequest() { allowance_ = std::min(allowance_ + kPerRequest, kMaxBurst); }
  void OnFirstByte(Duration since_start) { first_bytes_.Add(since_start); }
  // No hedges for some seconds: a service that asks for fewer requests must not get more.
  void OnThrottle(SteadyTime now) { quiet_until_ = now + kQuiet; }

  Duration Threshold() const;
  // Pays for one hedge, if there is enough.
  bool TryHedge(SteadyTime now);

 private:
  static constexpr double kMaxBurst = 16;
  static constexpr Duration kQuiet = std::chrono::seconds(5);
  LatencyWindow first_bytes_;
  double allowance_ = 1;
  SteadyTime quiet_until_{};
};

// The number of requests that may be in flight, found by probing: it grows while that brings at
// least 5 % more bytes per second and the median first byte stays under twice the lowest recent
// median, and halves when the service throttles. What counts as a step is one round: as many
// answers as may be in flight.
class FlowControl {
 public:
  struct Limits {
    int fixed = 0;       // > 0: that many, always
    int start = 32;      // where probing begins, and what it does not fall below by itself
    int ceiling = 1024;  // where it ends (descriptors)
  };
  explicit FlowControl(const Limits& limits)
      : limits_(limits), limit_(limits.fixed > 0 ? limits.fixed : limits.start) {}

  int limit() const { return limit_; }
  // An answer ended, `elapsed` after its request was sent. `saturated`: requests were waiting for a
  // place, so a higher limit would be used.
  void OnAnswer(Duration first_byte, Duration elapsed, std::uint64_t bytes, bool saturated,
                SteadyTime now);
  void OnThrottle(SteadyTime now);

 private:
  static constexpr int kLowest = 4;
  void EndRound(SteadyTime now);
  void Probe();

  const Limits limits_;
  int limit_;
  int before_probe_ = 0;    // the limit to go back to; 0 = not probing
  int settled_rounds_ = 0;  // without growth, since the last change
  double best_rate_ = 0;    // bytes per second, before the probe
  SteadyTime round_began_{};
  std::uint64_t round_bytes_ = 0;
  bool round_saturated_ = false;
  std::vector<Duration> round_latencies_;
  std::deque<Duration> recent_medians_;
  SteadyTime throttled_at_{};
};

}  // namespace headrace::s3
