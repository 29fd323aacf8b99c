#include "base/budget.h"

#include <functional>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "base/buffer_pool.h"
#include "base/metrics.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;

// Returns when somebody waits for memory of a share that is all in use.
void WaitForAWaiter(MemoryBudget& budget) {
  while (budget.TryAcquire(Share::kReads, 0).has_value()) std::this_thread::yield();
}

MemoryBudget OneShare(std::size_t bytes) { return MemoryBudget({bytes, 0, 0, 0, 0}); }

TEST(MemoryBudget, LeasesReturnTheirBytes) {
  MemoryBudget budget = OneShare(100);
  {
    Result<Lease> lease = budget.Acquire(Share::kReads, 60);
    ASSERT_TRUE(lease.ok());
    EXPECT_EQ(budget.in_use(Share::kReads), 60U);
    EXPECT_FALSE(budget.TryAcquire(Share::kReads, 41).has_value());
    lease->ShrinkTo(10);
    EXPECT_TRUE(budget.TryAcquire(Share::kReads, 90).has_value());
  }
  EXPECT_EQ(budget.in_use(Share::kReads), 0U);
  EXPECT_EQ(budget.peak(Share::kReads), 100U);
}

TEST(MemoryBudget, AnItemLargerThanItsSharePassesAlone) {
  MemoryBudget budget = OneShare(100);
  Result<Lease> huge = budget.Acquire(Share::kReads, 1000);
  ASSERT_TRUE(huge.ok());
  EXPECT_FALSE(budget.TryAcquire(Share::kReads, 1).has_value());
  huge->Release();
  std::optional<Lease> small = budget.TryAcquire(Share::kReads, 1);
  ASSERT_TRUE(small.has_value());
  EXPECT_FALSE(budget.TryAcquire(Share::kReads, 1000).has_value());
}

TEST(MemoryBudget, WaitEndsAtTheDeadlineAndSaysWhat) {
  MemoryBudget budget = OneShare(10);
  std::optional<Lease> all = budget.TryAcquire(Share::kReads, 10);
  Result<Lease> lease = budget.Acquire(Share::kReads, 5, {}, Deadline::After(milliseconds(1)));
  EXPECT_EQ(lease.status().code(), StatusCode::kTimeout);
  EXPECT_NE(lease.status().message().find("10 of 10 in use"), std::string::npos);
  all.reset();
  EXPECT_TRUE(budget.TryAcquire(Share::kReads, 10).has_value());
}

// One thread holds the whole share and waits for more: nobody else will give it anything.
TEST(MemoryBudget, WhoWaitsWhileAllIsParkedPasses) {
  MemoryBudget budget = OneShare(10);
  std::optional<Lease> one = budget.TryAcquire(Share::kReads, 5);
  std::optional<Lease> other = budget.TryAcquire(Share::kReads, 5);
  one->SetParked(true);
  const Deadline soon = Deadline::After(milliseconds(1));
  EXPECT_EQ(budget.Acquire(Share::kReads, 5, {}, soon).status().code(), StatusCode::kTimeout);
  other->SetParked(true);
  Result<Lease> more = budget.Acquire(Share::kReads, 5);
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(budget.in_use(Share::kReads), 15U);
  // What just passed is under way: the next one waits for it.
  EXPECT_FALSE(budget.Acquire(Share::kReads, 5, {}, Deadline::After(milliseconds(1))).ok());
  one->ShrinkTo(2);
  EXPECT_FALSE(budget.TryAcquire(Share::kReads, 1).has_value());
  one.reset();
  other.reset();
  more->Release();
  EXPECT_EQ(budget.in_use(Share::kReads), 0U);
  EXPECT_TRUE(budget.TryAcquire(Share::kReads, 10).has_value());
}

TEST(MemoryBudget, AWaiterPassesWhenTheLastOfTheOthersIsParked) {
  MemoryBudget budget = OneShare(10);
  std::optional<Lease> all = budget.TryAcquire(Share::kReads, 10);
  std::jthread loop([&budget, park = all->Parker()] {
    WaitForAWaiter(budget);
    park();
  });
  EXPECT_TRUE(budget.Acquire(Share::kReads, 5).ok());
  const std::function<void()> late = all->Parker();
  all.reset();
  late();
  EXPECT_EQ(budget.in_use(Share::kReads), 0U);
}

TEST(MemoryBudget, WhoWaitsWhileOthersAreUnderWayWaits) {
  MemoryBudget budget = OneShare(4);
  std::vector<Lease> held;
  for (int i = 0; i < 4; ++i) held.push_back(std::move(*budget.TryAcquire(Share::kReads, 1)));
  std::jthread other([&] {
    WaitForAWaiter(budget);
    while (!held.empty()) held.pop_back();
  });
  ASSERT_TRUE(budget.Acquire(Share::kReads, 4).ok());
  EXPECT_EQ(budget.peak(Share::kReads), 4U);
}

TEST(MemoryBudget, SparesWhatOthersMayWaitFor) {
  MemoryBudget budget = OneShare(100);
  std::optional<Lease> first = budget.TryAcquire(Share::kReads, 100, 10);
  ASSERT_TRUE(first.has_value());  // nothing else was in use
  first->ShrinkTo(50);
  EXPECT_FALSE(budget.TryAcquire(Share::kReads, 41, 10).has_value());
  EXPECT_TRUE(budget.TryAcquire(Share::kReads, 40, 10).has_value());
}

// Eight readers with windows of four blocks over a budget of three: waiting while holding would
// hang.
TEST(MemoryBudget, TheRuleIsFreeOfDeadlock) {
  MemoryBudget budget = OneShare(3);
  std::vector<std::jthread> readers;
  for (int r = 0; r < 8; ++r) {
    readers.emplace_back([&budget] {
      std::vector<Lease> window;
      for (int i = 0; i < 200; ++i) {
        if (window.empty()) {
          window.push_back(std::move(*budget.Acquire(Share::kReads, 1)));
        } else if (std::optional<Lease> more = budget.TryAcquire(Share::kReads, 1)) {
          window.push_back(std::move(*more));
        } else {
          window.erase(window.begin());
        }
        if (window.size() == 4) window.erase(window.begin());
      }
    });
  }
  readers.clear();
  EXPECT_EQ(budget.in_use(Share::kReads), 0U);
  EXPECT_LE(budget.peak(Share::kReads), 3U);
}

TEST(BufferPool, ReusesMemoryUpToItsLimit) {
  BufferPool pool(8 << 20);
  const std::byte* first = nullptr;
  {
    Buffer buffer = pool.Allocate(5 << 20);
    first = buffer.data();
    EXPECT_EQ(buffer.size(), std::size_t{5} << 20);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % (2 << 20), 0U);
    buffer.mutable_data()[buffer.size() - 1] = std::byte{1};
  }
  EXPECT_EQ(pool.Allocate(5 << 20).data(), first);
  { Buffer too_large = pool.Allocate(9 << 20); }
  EXPECT_LE(pool.retained(), std::size_t{8} << 20);
}

TEST(BufferPool, SlicesAndBuffersOutliveThePool) {
  Buffer slice;
  {
    BufferPool pool(1 << 20);
    Buffer buffer = pool.Allocate(100);
    std::fill_n(buffer.mutable_data(), 100, std::byte{7});
    slice = buffer.Slice(10, 5);
  }
  EXPECT_EQ(slice.size(), 5U);
  EXPECT_EQ(slice.data()[4], std::byte{7});
}

TEST(Histogram, QuantilesAreWithinAQuarterOctave) {
  Histogram histogram;
  EXPECT_EQ(histogram.QuantileMicros(0.5), 0U);
  for (std::uint64_t i = 1; i <= 1000; ++i) histogram.Record(i * 100);
  EXPECT_NEAR(histogram.QuantileMicros(0.5), 50'000, 10'000);
  EXPECT_NEAR(histogram.QuantileMicros(0.99), 99'000, 20'000);
  EXPECT_EQ(histogram.count(), 1000U);
  histogram.Record(~std::uint64_t{0});  // the last bucket takes what is beyond it
  EXPECT_EQ(histogram.count(), 1001U);
}

TEST(Registry, ReportsInPrometheusText) {
  Counter requests;
  Histogram latency;
  Registry registry;
  registry.Add("headrace_requests_total", "Requests sent.", &requests, {{"operation", "get"}});
  registry.Add("headrace_first_byte_seconds", "Time to first byte.", &latency);
  registry.Add("headrace_requests_total", "Requests sent.", &requests, {{"operation", "put"}});
  requests.Add(3);
  latency.Record(1000);
  const std::string text = registry.PrometheusText();
  EXPECT_NE(text.find("# TYPE headrace_requests_total counter\n"
                      "headrace_requests_total{operation=\"get\"} 3\n"
                      "headrace_requests_total{operation=\"put\"} 3\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("headrace_first_byte_seconds_count 1\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace headrace
