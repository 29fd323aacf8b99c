// When a failed attempt is tried again: pure functions of the failure, the time and a random
// source.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/deadline.h"
#include "base/random.h"
#include "s3/error.h"

namespace headrace::s3 {

struct RetryOptions {
  int max_attempts = 10;  // the first one included
  std::chrono::milliseconds base{100};
  std::chrono::milliseconds throttle_base{500};
  std::chrono::milliseconds cap{20'000};
};

// Full jitter: U(0, min(cap, base * 2^n)) before retry n = 0, 1, …, which spreads the clients of a
// failed server over time ("Exponential Backoff and Jitter", AWS Architecture Blog, 2015). A
// Retry-After is waited for in full, and the jitter after it.
Duration Backoff(const RetryOptions& options, ErrorClass error_class, int retries_so_far,
                 Duration retry_after, Random& random);

// The value of a Retry-After header: seconds or a date. Zero when it is neither or has passed.
Duration ParseRetryAfter(std::string_view value, WallTime now);

// The memory of one request through its attempts. Not thread-safe.
class RetryState {
 public:
  explicit RetryState(const RetryOptions& options) : options_(options) {}

  // After a failed attempt of that class: how long to wait before the next; nullopt to give up.
  // Credentials are refreshed, clocks corrected and redirects followed without a wait, a few times.
  std::optional<Duration> Next(ErrorClass error_class, Duration retry_after, Random& random);

  // A body that broke midway but brought much of what was missing: the backoff starts over. The
  // number of attempts stays bounded by the object's size.
  void MadeProgress() { backoffs_ = 0; }

  int attempts() const { return attempts_; }  // failed ones so far

 private:
  RetryOptions options_;
  int attempts_ = 0;
  int backoffs_ = 0;  // since the last progress; these count against max_attempts
  int refreshes_ = 0;
  int corrections_ = 0;
  int redirects_ = 0;
};

// A token bucket per endpoint, so that a failing service gets few retries from all requests
// together. An empty bucket delays a retry, it never refuses one. Safe for use from many threads.
class RetryBudget {
 public:
  struct Options {
    double capacity = 500;     // retries that may go at once
    double per_second = 50;    // and these after that
    double per_success = 0.1;  // a healthy service earns more
  };

  RetryBudget() : RetryBudget(Options{}) {}
  explicit RetryBudget(Options options) : options_(options), tokens_(options.capacity) {}

  // Takes one token and returns how long to wait for it; retries queue in the order of their calls.
  Duration Take(SteadyTime now);
  void OnSuccess();
  double tokens(SteadyTime now) const;

 private:
  double Refilled(SteadyTime now) const;  // REQUIRES: mu_ held

  const Options options_;
  mutable std::mutex mu_;
  double tokens_;         // guarded by mu_; negative: promised to those who wait
  SteadyTime updated_{};  // guarded by mu_
  bool started_ = false;  // guarded by mu_
};

}  // namespace headrace::s3
