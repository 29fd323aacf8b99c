#include "support/transfer_pool.h"

#include <atomic>
#include <gtest/gtest.h>
#include <latch>

namespace headrace::cli {
namespace {

TEST(TransferPool, RunsAllTasks) {
  std::atomic<int> ran = 0;
  TransferPool pool(4, {});
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pool.Submit([&ran] { ++ran; }));
  pool.Drain();
  EXPECT_EQ(ran, 1000);
}

TEST(TransferPool, RunsAsManyAtOnceAsItHasThreads) {
  std::latch together(4);
  TransferPool pool(4, {});
  for (int i = 0; i < 4; ++i) pool.Submit([&together] { together.arrive_and_wait(); });
  pool.Drain();  // would never end with fewer threads
}

TEST(TransferPool, DropsWhatHasNotBegunAtAStop) {
  std::stop_source stop;
  std::atomic<int> ran = 0;
  std::latch began(1);
  TransferPool pool(1, stop.get_token());
  pool.Submit([&] {
    ++ran;
    began.count_down();
    while (!stop.stop_requested()) std::this_thread::yield();
  });
  began.wait();
  pool.Submit([&ran] { ++ran; });
  stop.request_stop();
  EXPECT_FALSE(pool.Submit([&ran] { ++ran; }));
  pool.Drain();
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace headrace::cli
