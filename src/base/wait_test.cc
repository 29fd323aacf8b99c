#include "base/wait.h"

#include <gtest/gtest.h>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

namespace headrace {
namespace {

using std::chrono::milliseconds;

// The stopping thread is often inside a waiter's callback, and wants the lock, just when that
// waiter leaves with the lock held.
TEST(Wait, EndsWhenStoppedWhileTheWaiterHoldsTheLock) {
  constexpr int kWaiters = 8;
  for (int round = 0; round < 100; ++round) {
    std::mutex mu;
    std::condition_variable changed;
    std::stop_source stop;
    std::latch waiting(kWaiters);
    std::vector<std::jthread> waiters;
    for (int i = 0; i < kWaiters; ++i) {
      waiters.emplace_back([&] {
        std::unique_lock lock(mu);
        bool counted = false;
        const WaitEnd end = WaitUntilDone(changed, lock, stop.get_token(), {}, [&] {
          if (!std::exchange(counted, true)) waiting.count_down();
          changed.notify_all();  // keeps the others awake
          return false;
        });
        EXPECT_EQ(end, WaitEnd::kStopped);
        EXPECT_TRUE(lock.owns_lock());
      });
    }
    waiting.wait();
    stop.request_stop();
  }
}

TEST(Wait, WhatBecameTrueWhileItEndedCounts) {
  std::mutex mu;
  std::condition_variable changed;
  std::stop_source stop;
  stop.request_stop();
  int calls = 0;
  std::unique_lock lock(mu);
  EXPECT_EQ(WaitUntilDone(changed, lock, stop.get_token(), {}, [&] { return ++calls == 3; }),
            WaitEnd::kDone);
}

class InterruptCheckTest : public testing::Test {
 protected:
  InterruptCheckTest() { checks = 0; }
  WaitEnd WaitOneMillisecond() {
    std::unique_lock lock(mu_);
    return WaitUntilDone(changed_, lock, {}, Deadline::After(milliseconds(1)),
                         [] { return false; });
  }
  static int checks;

 private:
  std::mutex mu_;
  std::condition_variable changed_;
};

int InterruptCheckTest::checks = 0;

TEST_F(InterruptCheckTest, AShortWaitDoesNotRunIt) {
  const ScopedInterruptCheck check([] { return ++checks > 0; });
  EXPECT_EQ(WaitOneMillisecond(), WaitEnd::kDeadline);
  EXPECT_EQ(checks, 0);
}

TEST_F(InterruptCheckTest, ManyShortWaitsDo) {
  const ScopedInterruptCheck check([] { return ++checks > 0; });
  const Deadline patience = Deadline::After(std::chrono::seconds(60));
  WaitEnd end = WaitEnd::kDeadline;
  while (end == WaitEnd::kDeadline && !patience.passed()) end = WaitOneMillisecond();
  EXPECT_EQ(end, WaitEnd::kStopped);
  EXPECT_EQ(checks, 1);
}

}  // namespace
}  // namespace headrace
