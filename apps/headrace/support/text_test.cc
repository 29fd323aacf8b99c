#include "support/text.h"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "support/content_type.h"
#include "support/location.h"

namespace headrace::cli {
namespace {

TEST(Printable, KeepsTextAndShowsTheRest) {
  EXPECT_EQ(Printable("a b/ü日🐈"), "a b/ü日🐈");
  EXPECT_EQ(Printable("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(Printable("a\\x0a"), "a\\\\x0a");
  EXPECT_EQ(Printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(Printable("\xc2\x9b\xed\xa0\x80\xc0\x80"), "\\xc2\\x9b\\xed\\xa0\\x80\\xc0\\x80");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(HumanBytes, ChoosesTheUnit) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1024), "1.0 KiB");
  EXPECT_EQ(HumanBytes(1.5 * (1 << 20)), "1.5 MiB");
  EXPECT_EQ(HumanBytes((1 << 20) - 1), "1.0 MiB");
}

TEST(Times, AreUtcInJson) {
  const auto time = std::chrono::system_clock::time_point(std::chrono::seconds(1'795'971'401));
  EXPECT_EQ(UtcTime(time), "2026-11-29T16:56:41Z");
  EXPECT_EQ(UtcTime(time + std::chrono::milliseconds(7)), "2026-11-29T16:56:41.007Z");
  EXPECT_EQ(HumanSeconds(44.2), "45 s");
  EXPECT_EQ(HumanSeconds(200), "3 min 20 s");
  EXPECT_EQ(HumanSeconds(7500), "2 h 5 min");
}

TEST(ParseBytes, TakesTheUsualSpellings) {
  EXPECT_EQ(*ParseBytes("0"), 0u);
  EXPECT_EQ(*ParseBytes("8388608"), 8388608u);
  EXPECT_EQ(*ParseBytes("8MiB"), 8388608u);
  EXPECT_EQ(*ParseBytes("8mib"), 8388608u);
  EXPECT_EQ(*ParseBytes("8 M"), 8388608u);
  EXPECT_EQ(*ParseBytes("8MB"), 8'000'000u);
  EXPECT_EQ(*ParseBytes("115kB"), 115'000u);
  EXPECT_EQ(*ParseBytes("1.5GiB"), 3u << 29);
  EXPECT_EQ(*ParseBytes("9007199254740993"), 9007199254740993u);
  EXPECT_EQ(*ParseBytes("3TiB"), 3ull << 40);
}

TEST(ParseBytes, RefusesTheRest) {
  for (const char* text : {"", "MiB", "-1", "-0.3", "1XB", "1i", "nan", "inf", "8 MiB x",
                           "99999999999999999999", "8388608TiB"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  }
}

TEST(ContentType, FollowsTheLastExtension) {
  EXPECT_EQ(GuessContentType("a.b/x.JPG"), "image/jpeg");
  EXPECT_EQ(GuessContentType("x.tar.gz"), "application/gzip");
  EXPECT_EQ(GuessContentType("a.jpg/x"), "");
  EXPECT_EQ(GuessContentType(".jpg"), "");
  EXPECT_EQ(GuessContentType("x."), "");
}

TEST(ErrorText, TellsTheRuleToBucketsThatCannotExist) {
  auto of = [](const char* bucket, const char* code) {
    ErrorInfo info;
    info.http_status = 404;
    info.bucket = bucket;
    info.s3_code = code;
    return ErrorText(Status(StatusCode::kNotFound, "no such bucket", info));
  };
  EXPECT_THAT(of("My_Data", "NoSuchBucket"),
              testing::HasSubstr("no such bucket; names of buckets"));
  EXPECT_EQ(of("My_Data", "NoSuchKey"), "NotFound: no such bucket [HTTP 404 NoSuchKey]");
  EXPECT_EQ(of("my-data", "NoSuchBucket"), "NotFound: no such bucket [HTTP 404 NoSuchBucket]");
  EXPECT_EQ(ErrorText(Status(StatusCode::kCancelled, "stopped by the caller")), "interrupted");
}

TEST(IsBucketName, KeepsToTheRule) {
  for (const char* good : {"abc", "a.b", "1-2", "my.bucket-1"}) EXPECT_TRUE(IsBucketName(good));
  for (const char* bad : {"", "ab", "Abc", "a_b", "-ab", "ab.", "a..b", "a b"}) {
    EXPECT_FALSE(IsBucketName(bad)) << bad;
  }
  EXPECT_TRUE(IsBucketName(std::string(63, 'a')));
  EXPECT_FALSE(IsBucketName(std::string(64, 'a')));
}

}  // namespace
}  // namespace headrace::cli
