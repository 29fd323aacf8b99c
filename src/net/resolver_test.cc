#include "net/resolver.h"

#include <atomic>
#include <gtest/gtest.h>
#include <utility>

#include "base/pending.h"

namespace headrace::net {
namespace {

Result<std::string> PickNow(Resolver& resolver, const std::string& host) {
  auto [pending, promise] = MakePending<std::string>();
  auto shared = std::make_shared<Promise<std::string>>(std::move(promise));
  resolver.Pick(host, [shared](Result<std::string> r) { shared->Set(std::move(r)); });
  return pending.Wait({}, Deadline::After(std::chrono::seconds(20)));
}

TEST(Resolver, SpreadsOverTheAddresses) {
  FakeClock clock;
  Resolver resolver(&clock, [](const std::string&) -> Result<std::vector<std::string>> {
    return std::vector<std::string>{"10.0.0.1", "10.0.0.2"};
  });
  const std::string first = *PickNow(resolver, "s3");
  const std::string second = *PickNow(resolver, "s3");
  EXPECT_NE(first, second);
  EXPECT_EQ(*PickNow(resolver, "s3"), first);
}

TEST(Resolver, AvoidsAFailedAddressForAWhile) {
  FakeClock clock;
  Resolver resolver(&clock, [](const std::string&) -> Result<std::vector<std::string>> {
    return std::vector<std::string>{"10.0.0.1", "10.0.0.2"};
  });
  EXPECT_TRUE(PickNow(resolver, "s3").ok());
  resolver.ReportFailure("s3", "10.0.0.1");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(*PickNow(resolver, "s3"), "10.0.0.2");
  resolver.ReportFailure("s3", "10.0.0.2");  // all failed: better a bad one than none
  EXPECT_TRUE(PickNow(resolver, "s3").ok());
  clock.Advance(std::chrono::seconds(31));
  EXPECT_NE(*PickNow(resolver, "s3"), *PickNow(resolver, "s3"));
}

TEST(Resolver, LooksUpOnceForManyAndAgainAfterAMinute) {
  FakeClock clock;
  std::atomic<int> lookups{0};
  Resolver resolver(&clock, [&](const std::string&) -> Result<std::vector<std::string>> {
    lookups.fetch_add(1);
    lookups.notify_all();
    return std::vector<std::string>{"10.0.0.1"};
  });
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(PickNow(resolver, "s3").ok());
  EXPECT_EQ(lookups.load(), 1);
  clock.Advance(std::chrono::seconds(61));
  EXPECT_TRUE(PickNow(resolver, "s3").ok());  // the old answer at once, a new lookup beside it
  lookups.wait(1);
  EXPECT_EQ(lookups.load(), 2);
}

TEST(Resolver, SaysWhichHostCannotBeResolved) {
  FakeClock clock;
  Resolver resolver(&clock);
  Result<std::string> r = PickNow(resolver, "no-such-host.invalid");
  EXPECT_EQ(r.status().code(), StatusCode::kUnreachable);
  EXPECT_NE(r.status().message().find("no-such-host.invalid"), std::string::npos);
}

TEST(Resolver, ALookupThatEndsAfterItUsesNothing) {
  struct CountingClock final : Clock {
    SteadyTime Now() const override {
      ++uses;
      return {};
    }
    WallTime WallNow() const override { return {}; }
    mutable std::atomic<int> uses{0};
  } clock;
  std::atomic<bool> ended{false};
  // Destroyed with the lookup's state, as the last thing its thread does.
  auto [pending, promise] = MakePending<std::string>();
  auto shared = std::make_shared<Promise<std::string>>(std::move(promise));
  {
    Resolver resolver(&clock, [&](const std::string&) -> Result<std::vector<std::string>> {
      ended.wait(false);
      return std::vector<std::string>{"10.0.0.1"};
    });
    resolver.Pick("s3", [p = std::exchange(shared, nullptr)](Result<std::string> r) {
      p->Set(std::move(r));
    });
  }
  const int uses = clock.uses;
  ended = true;
  ended.notify_all();
  EXPECT_EQ(pending.Wait({}, Deadline::After(std::chrono::seconds(20))).status().code(),
            StatusCode::kCancelled);
  EXPECT_EQ(clock.uses, uses);
}

TEST(Resolver, KnowsLiterals) {
  EXPECT_TRUE(IsIpLiteral("127.0.0.1"));
  EXPECT_TRUE(IsIpLiteral("::1"));
  EXPECT_TRUE(IsIpLiteral("[::1]"));
  EXPECT_FALSE(IsIpLiteral("localhost"));
}

}  // namespace
}  // namespace headrace::net
