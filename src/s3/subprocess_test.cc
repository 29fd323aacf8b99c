#include "s3/subprocess.h"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace headrace::s3 {
namespace {

using testing::ElementsAre;

TEST(RunProgram, ReturnsWhatTheProgramPrints) {
  EXPECT_EQ(*RunProgram({"printf", "%s|%s", "a b", "$HOME"}, {}, {}), "a b|$HOME");
  EXPECT_EQ(*RunProgram({"cat"}, {}, {}), "");  // its input is empty, not ours
  EXPECT_EQ(RunProgram({"head", "-c", "200000", "/dev/zero"}, {}, {})->size(), 200000u);
}

TEST(RunProgram, FailuresAreTyped) {
  EXPECT_EQ(RunProgram({"headrace-no-such-program"}, {}, {}).status().code(),
            StatusCode::kNotFound);
  const Status failed = RunProgram({"sh", "-c", "echo secret; exit 3"}, {}, {}).status();
  EXPECT_EQ(failed.code(), StatusCode::kIo);
  EXPECT_EQ(failed.message(), "'sh' failed with exit status 3");
  EXPECT_EQ(RunProgram({"sh", "-c", "kill -TERM $$"}, {}, {}).status().message(),
            "'sh' was killed by signal 15");
  EXPECT_EQ(RunProgram({"head", "-c", "2000000", "/dev/zero"}, {}, {}).status().code(),
            StatusCode::kIo);
  EXPECT_EQ(RunProgram({}, {}, {}).status().code(), StatusCode::kInvalidArgument);
}

TEST(RunProgram, EndsAtTheDeadline) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(RunProgram({"sleep", "100"}, {}, Deadline::After(std::chrono::milliseconds(20)))
                .status()
                .code(),
            StatusCode::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
}

TEST(RunProgram, EndsAtTheDeadlineAlsoWhenTheOutputIsClosed) {
  const auto begin = std::chrono::steady_clock::now();
  const auto run = [](std::stop_token stop, Deadline deadline) {
    return RunProgram({"sh", "-c", "exec >&-; exec sleep 100"}, stop, deadline).status().code();
  };
  EXPECT_EQ(run({}, Deadline::After(std::chrono::milliseconds(20))), StatusCode::kTimeout);
  std::stop_source stop;
  std::jthread stopper([&stop] { stop.request_stop(); });
  EXPECT_EQ(run(stop.get_token(), {}), StatusCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
}

TEST(RunProgram, EndsWhenStopped) {
  std::stop_source stop;
  std::jthread stopper([&stop] { stop.request_stop(); });
  EXPECT_EQ(RunProgram({"sleep", "100"}, stop.get_token(), {}).status().code(),
            StatusCode::kCancelled);
}

TEST(SplitCommand, SplitsLikeAShell) {
  EXPECT_THAT(*SplitCommand("  tool --profile 'a b' \"c \\\"d\\\" \\e\" f\\ g ''"),
              ElementsAre("tool", "--profile", "a b", "c \"d\" \\e", "f g", ""));
  EXPECT_THAT(*SplitCommand("a'b'\"c\""), ElementsAre("abc"));
  EXPECT_FALSE(SplitCommand("tool 'unclosed"));
  EXPECT_FALSE(SplitCommand("   "));
}

}  // namespace
}  // namespace headrace::s3
