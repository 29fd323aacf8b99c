#include "s3/flow.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace headrace::s3 {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A service with `first_byte` latency that can serve at most `capacity` answers a second.
int LimitAfter(FlowControl& flow, Duration first_byte, double capacity, int rounds) {
  SteadyTime now(seconds(100));
  for (int r = 0; r < rounds; ++r) {
    const int n = flow.limit();
    const auto busy =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(n / capacity));
    const Duration latency = std::max(first_byte, busy);
    for (int i = 0; i < n; ++i) {
      if (i == n - 1) now += latency;
      flow.OnAnswer(latency, latency, 115'000, true, now);
    }
  }
  return flow.limit();
}

TEST(FlowControl, GrowsWhileTheServiceGivesMore) {
  FlowControl flow({.ceiling = 1000});
  EXPECT_EQ(flow.limit(), 32);
  EXPECT_GE(LimitAfter(flow, milliseconds(30), 1e6, 12), 900);
}

TEST(FlowControl, StopsWhereMoreInFlightOnlyWaits) {
  FlowControl flow({.ceiling = 1000});
  // 2,000 answers a second behind 30 ms: sixty in flight are enough.
  const int limit = LimitAfter(flow, milliseconds(30), 2000, 100);
  EXPECT_GE(limit, 48);
  EXPECT_LE(limit, 200);
}

TEST(FlowControl, HalvesOnceForABurstOfThrottles) {
  FlowControl flow({.ceiling = 1000});
  const SteadyTime now(seconds(100));
  for (int i = 0; i < 30; ++i) flow.OnThrottle(now);
  EXPECT_EQ(flow.limit(), 16);
  flow.OnThrottle(now + seconds(1));
  flow.OnThrottle(now + seconds(2));
  flow.OnThrottle(now + seconds(3));
  EXPECT_EQ(flow.limit(), 4);  // never lower
}

TEST(FlowControl, LateAnswersNeverRaiseTheLimit) {
  FlowControl flow({.ceiling = 1000});
  SteadyTime now(seconds(100));
  LimitAfter(flow, milliseconds(10), 1e6, 1);
  for (int i = 1; i <= 3; ++i) flow.OnThrottle(now + seconds(i));
  const int throttled = flow.limit();
  EXPECT_LT(throttled, 32);
  // One round to learn the rate, then one that is ten times as late.
  for (const int late : {1, 10}) {
    const Duration latency = milliseconds(10) * late;
    for (int i = 0; i < 2 * throttled; ++i) {
      flow.OnAnswer(latency, latency, 1000, true, now += milliseconds(20));
    }
  }
  EXPECT_LE(flow.limit(), throttled * 3 / 2);
}

TEST(FlowControl, DoesNotGrowWithoutDemand) {
  FlowControl flow({.ceiling = 1000});
  SteadyTime now(seconds(100));
  for (int i = 0; i < 1000; ++i)
    flow.OnAnswer(milliseconds(30), milliseconds(30), 1000, false, now += milliseconds(1));
  EXPECT_EQ(flow.limit(), 32);
}

TEST(FlowControl, AFixedNumberStays) {
  FlowControl flow({.fixed = 64});
  EXPECT_EQ(LimitAfter(flow, milliseconds(30), 1e6, 5), 64);
  flow.OnThrottle(SteadyTime(seconds(1000)));
  EXPECT_EQ(flow.limit(), 64);
}

TEST(HedgeControl, HedgesStayBelowEightPercentOfRequests) {
  HedgeControl hedges;
  Random random(7);
  int requests = 0;
  int sent = 0;
  for (; requests < 20'000; ++requests) {
    hedges.OnRequest();
    if (hedges.TryHedge(SteadyTime(seconds(1)))) ++sent;  // wants one for every request
  }
  EXPECT_LT(sent, requests * 8 / 100);
  EXPECT_GT(sent, requests * 5 / 100);
}

TEST(HedgeControl, ThresholdFollowsTheTailOfFirstBytes) {
  HedgeControl hedges;
  EXPECT_EQ(hedges.Threshold(), milliseconds(500));
  for (int i = 0; i < 200; ++i)
    hedges.OnFirstByte(milliseconds(i % 100 == 99 ? 2000 : 30 + i % 50));
  EXPECT_GE(hedges.Threshold(), milliseconds(70));
  EXPECT_LT(hedges.Threshold(), milliseconds(100));
}

}  // namespace
}  // namespace headrace::s3
