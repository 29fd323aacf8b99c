#include "s3/retry.h"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>

namespace headrace::s3 {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, IsFullJitterUpToTheCap) {
  const RetryOptions options;
  for (int n = 0; n < 70; ++n) {
    Random random(n + 1);
    const Duration limit =
        std::min<Duration>(options.cap, milliseconds(100) * (1LL << std::min(n, 20)));
    Duration lowest = limit;
    Duration highest{};
    for (int i = 0; i < 300; ++i) {
      const Duration d = Backoff(options, ErrorClass::kTransient, n, {}, random);
      lowest = std::min(lowest, d);
      highest = std::max(highest, d);
    }
    EXPECT_LE(highest, limit) << n;
    EXPECT_GT(highest, limit * 9 / 10) << n;
    EXPECT_LT(lowest, limit / 10) << n;
  }
}

TEST(Backoff, ThrottlingWaitsLonger) {
  Random a(7);
  Random b(7);
  const Duration throttled = Backoff({}, ErrorClass::kThrottle, 0, {}, a);
  const Duration transient = Backoff({}, ErrorClass::kTransient, 0, {}, b);
  EXPECT_NEAR(static_cast<double>(throttled.count()) / static_cast<double>(transient.count()), 5,
              1e-3);
}

TEST(Backoff, RetryAfterIsWaitedForInFull) {
  Random random(1);
  const Duration d = Backoff({}, ErrorClass::kThrottle, 0, seconds(3), random);
  EXPECT_GE(d, seconds(3));
  EXPECT_LE(d, seconds(3) + milliseconds(500));
}

TEST(RetryAfter, IsSecondsOrADate) {
  const WallTime now = std::chrono::sys_days(std::chrono::year(2026) / 11 / 29);
  EXPECT_EQ(ParseRetryAfter("120", now), seconds(120));
  EXPECT_EQ(ParseRetryAfter("Sun, 29 Nov 2026 00:00:07 GMT", now), seconds(7));
  EXPECT_EQ(ParseRetryAfter("Sat, 28 Nov 2026 00:00:07 GMT", now), Duration::zero());
  EXPECT_EQ(ParseRetryAfter("-5", now), Duration::zero());
  EXPECT_EQ(ParseRetryAfter("soon", now), Duration::zero());
  EXPECT_EQ(ParseRetryAfter("", now), Duration::zero());
  EXPECT_EQ(ParseRetryAfter("999999999", now), std::chrono::hours(24));
}

TEST(RetryState, GivesUpAfterMaxAttempts) {
  Random random(1);
  RetryState state(RetryOptions{.max_attempts = 3});
  EXPECT_TRUE(state.Next(ErrorClass::kTransient, {}, random));
  EXPECT_TRUE(state.Next(ErrorClass::kThrottle, {}, random));
  EXPECT_FALSE(state.Next(ErrorClass::kTransient, {}, random));
  EXPECT_EQ(state.attempts(), 3);
}

TEST(RetryState, NeverRetriesAFatalError) {
  Random random(1);
  RetryState state(RetryOptions{});
  EXPECT_FALSE(state.Next(ErrorClass::kFatal, {}, random));
}

TEST(RetryState, CuresAreImmediateAndFew) {
  Random random(1);
  RetryState state(RetryOptions{.max_attempts = 2});
  EXPECT_EQ(state.Next(ErrorClass::kAuthRefresh, seconds(9), random), Duration::zero());
  EXPECT_EQ(state.Next(ErrorClass::kAuthRefresh, {}, random), Duration::zero());
  EXPECT_FALSE(state.Next(ErrorClass::kAuthRefresh, {}, random));
  EXPECT_EQ(state.Next(ErrorClass::kClockSkew, {}, random), Duration::zero());
  EXPECT_FALSE(state.Next(ErrorClass::kClockSkew, {}, random));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(state.Next(ErrorClass::kRedirect, {}, random));
  EXPECT_FALSE(state.Next(ErrorClass::kRedirect, {}, random));
  // None of these used up the one backoff.
  EXPECT_TRUE(state.Next(ErrorClass::kTransient, {}, random));
  EXPECT_FALSE(state.Next(ErrorClass::kTransient, {}, random));
}

TEST(RetryState, ProgressStartsTheBackoffOver) {
  Random random(1);
  RetryState state(RetryOptions{.max_attempts = 2});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(state.Next(ErrorClass::kTransient, {}, random)) << i;
    state.MadeProgress();
  }
}

TEST(RetryBudget, AnEmptyBucketDelays) {
  RetryBudget budget({.capacity = 2, .per_second = 10, .per_success = 0});
  const SteadyTime now = SteadyTime(seconds(100));
  EXPECT_EQ(budget.Take(now), Duration::zero());
  EXPECT_EQ(budget.Take(now), Duration::zero());
  EXPECT_EQ(budget.Take(now), milliseconds(100));
  EXPECT_EQ(budget.Take(now), milliseconds(200));  // behind the one before it
  EXPECT_EQ(budget.Take(now + milliseconds(200)), milliseconds(100));
}

TEST(RetryBudget, RefillsToItsCapacity) {
  RetryBudget budget({.capacity = 3, .per_second = 1, .per_success = 0.5});
  const SteadyTime now = SteadyTime(seconds(100));
  for (int i = 0; i < 3; ++i) budget.Take(now);
  EXPECT_DOUBLE_EQ(budget.tokens(now), 0);
  budget.OnSuccess();
  EXPECT_DOUBLE_EQ(budget.tokens(now), 0.5);
  EXPECT_DOUBLE_EQ(budget.tokens(now + seconds(1)), 1.5);
  EXPECT_DOUBLE_EQ(budget.tokens(now + seconds(1000)), 3);
}

}  // namespace
}  // namespace headrace::s3
