#include "base/pending.h"

#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/completion_queue.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;

TEST(Pending, GivesTheResultSetOnAnotherThread) {
  auto [pending, promise] = MakePending<int>();
  std::jthread producer([p = std::move(promise)]() mutable { p.Set(7); });
  EXPECT_EQ(*pending.Wait(), 7);
  EXPECT_FALSE(pending.valid());
}

TEST(Pending, DroppedPromiseIsAnErrorNotAHang) {
  auto [pending, promise] = MakePending<int>();
  { auto gone = std::move(promise); }
  EXPECT_EQ(pending.Wait().status().code(), StatusCode::kCancelled);
}

TEST(Pending, DroppingCancelsOnce) {
  int cancelled = 0;
  auto [pending, promise] = MakePending<int>();
  promise.OnCancel([&] { ++cancelled; });
  { auto gone = std::move(pending); }
  EXPECT_EQ(cancelled, 1);
  EXPECT_TRUE(promise.cancelled());
  promise.Set(1);  // a late result is dropped
  EXPECT_EQ(cancelled, 1);
}

TEST(Pending, DroppingASettledOneDoesNotCancel) {
  bool cancelled = false;
  auto [pending, promise] = MakePending<int>();
  promise.OnCancel([&] { cancelled = true; });
  promise.Set(1);
  { auto gone = std::move(pending); }
  EXPECT_FALSE(cancelled);
}

TEST(Pending, OnCancelAfterTheDropRunsAtOnce) {
  auto [pending, promise] = MakePending<int>();
  { auto gone = std::move(pending); }
  bool cancelled = false;
  promise.OnCancel([&] { cancelled = true; });
  EXPECT_TRUE(cancelled);
}

TEST(Pending, DeadlineCancelsTheOperation) {
  auto [pending, promise] = MakePending<int>();
  bool cancelled = false;
  promise.OnCancel([&] { cancelled = true; });
  Result<int> r = pending.Wait({}, Deadline::After(milliseconds(1)));
  EXPECT_EQ(r.status().code(), StatusCode::kTimeout);
  EXPECT_TRUE(cancelled);
}

TEST(Pending, StopRequestEndsTheWait) {
  auto [pending, promise] = MakePending<int>();
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(pending.Wait(stop.get_token()).status().code(), StatusCode::kCancelled);
}

TEST(Pending, InterruptCheckEndsTheWait) {
  auto [pending, promise] = MakePending<int>();
  static int checks = 0;
  checks = 0;
  ScopedInterruptCheck interrupt([] { return ++checks == 2; });
  EXPECT_EQ(pending.Wait().status().code(), StatusCode::kCancelled);
  EXPECT_TRUE(promise.cancelled());
}

TEST(Pending, DropWaitsUntilTheLoopWritesNoMoreToTheCaller) {
  std::vector<int> memory(1, 0);
  auto [pending, promise] = MakePending<int>();
  promise.WritesToCaller();
  std::atomic<bool> cancel_seen{false};
  promise.OnCancel([&] {
    cancel_seen.store(true);
    cancel_seen.notify_all();
  });
  std::jthread loop([&memory, &cancel_seen, p = std::move(promise)]() mutable {
    cancel_seen.wait(false);
    memory[0] = 42;  // a last write, before the loop acknowledges
    p.Set(Status(StatusCode::kCancelled, "stopped"));
  });
  { auto gone = std::move(pending); }
  EXPECT_EQ(memory[0], 42);
}

TEST(Pending, InheritedOverForkIsLetGoOf) {
  auto [pending, promise] = MakePending<int>();
  promise.WritesToCaller();  // would wait for ever in the child, which has no loop
  const pid_t child = fork();
  if (child == 0) {
    { auto gone = std::move(pending); }
    { auto gone = std::move(promise); }
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  promise.Set(3);
  EXPECT_EQ(*pending.Wait(), 3);
}

TEST(Map, ConvertsTheResult) {
  auto [pending, promise] = MakePending<int>();
  Pending<std::string> text =
      Map<std::string>(std::move(pending), [](Result<int> r) -> Result<std::string> {
        if (!r.ok()) return r.status();
        return std::to_string(*r);
      });
  promise.Set(7);
  EXPECT_EQ(*text.Wait(), "7");
}

TEST(Map, CancellingGoesThrough) {
  auto [pending, promise] = MakePending<int>();
  bool cancelled = false;
  promise.OnCancel([&] { cancelled = true; });
  {
    Pending<int> mapped = Map<int>(std::move(pending), [](Result<int> r) { return r; });
  }
  EXPECT_TRUE(cancelled);
  promise.Set(1);
}

TEST(Map, OfAReadyOneIsReady) {
  Pending<int> mapped =
      Map<int>(Pending<int>::Ready(4), [](Result<int> r) -> Result<int> { return *r + 1; });
  EXPECT_TRUE(mapped.ready());
  EXPECT_EQ(*mapped.Wait(), 5);
}

TEST(CompletionQueue, TagsComeInOrderOfCompletion) {
  CompletionQueue<int> queue;
  auto [p0, s0] = MakePending<int>();
  auto [p1, s1] = MakePending<int>();
  queue.Watch(p0, 0);
  queue.Watch(p1, 1);
  s1.Set(11);
  s0.Set(10);
  EXPECT_EQ(queue.Next(), 1);
  EXPECT_EQ(queue.Next(), 0);
  EXPECT_EQ(queue.Next({}, Deadline::After(milliseconds(1))), std::nullopt);
}

TEST(CompletionQueue, SeveralTagsAreWaitedForAtOnce) {
  CompletionQueue<int> queue;
  auto [p0, s0] = MakePending<int>();
  auto [p1, s1] = MakePending<int>();
  queue.Watch(p0, 0);
  queue.Watch(p1, 1);
  s0.Set(10);
  const SteadyTime began = std::chrono::steady_clock::now();
  queue.WaitForSeveral(2, {}, Deadline::After(milliseconds(20)));
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(20));  // one is not enough
  std::jthread later([&s = s1] { s.Set(11); });
  queue.WaitForSeveral(2, {}, Deadline::Never());
  EXPECT_EQ(queue.Next(), 0);
  EXPECT_EQ(queue.Next(), 1);
}

}  // namespace
}  // namespace headrace
