#include "s3/time_text.h"

#include <chrono>
#include <gtest/gtest.h>

namespace headrace::s3 {
namespace {

constexpr WallTime kTime = std::chrono::sys_days(std::chrono::year(2026) / 11 / 29) +
                           std::chrono::hours(16) + std::chrono::minutes(56) +
                           std::chrono::seconds(41);

TEST(TimeText, ReadsWhatServersWrite) {
  EXPECT_EQ(ParseIso8601("2026-11-29T16:56:41Z"), kTime);
  EXPECT_EQ(ParseIso8601("2026-11-29T16:56:41.000Z"), kTime);
  EXPECT_EQ(ParseIso8601("2026-11-29T16:56:41.25Z"), kTime + std::chrono::milliseconds(250));
  EXPECT_EQ(ParseIso8601("2026-11-29T16:56:41.1234567891Z"),
            kTime + std::chrono::nanoseconds(123456789));
  EXPECT_EQ(ParseIso8601("2026-11-29T17:56:41+01:00"), kTime);
  EXPECT_EQ(ParseIso8601("2026-11-29T15:26:41-0130"), kTime);
  EXPECT_EQ(ParseHttpDate("Sun, 29 Nov 2026 16:56:41 GMT"), kTime);
}

TEST(TimeText, RefusesAnythingElse) {
  for (const char* text : {"", "2026", "2026-11-29", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
                           "2026-11-29T24:00:00Z", "2026-11-29T16:56:41", "2026-11-29T16:56:41.Z",
                           "2026-11-29T16:56:41Zx", "2026-11-29 16:56:41Z"}) {
    EXPECT_FALSE(ParseIso8601(text)) << text;
  }
  for (const char* text : {"", "Sun", "Sun, 29 Nox 2026 16:56:41 GMT", "Sun, 29 Nov 2026 16:56:41",
                           "Sun, 31 Feb 2026 16:56:41 GMT", "120"}) {
    EXPECT_FALSE(ParseHttpDate(text)) << text;
  }
}

TEST(TimeText, FormatsUtcToTheSecond) {
  EXPECT_EQ(FormatIso8601(kTime + std::chrono::milliseconds(999)), "2026-11-29T16:56:41Z");
  EXPECT_EQ(FormatIso8601(WallTime{}), "1970-01-01T00:00:00Z");
}

}  // namespace
}  // namespace headrace::s3
