#include "devserver/model.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace headrace::devserver {
namespace {

using std::chrono::milliseconds;

TEST(Model, IsOffByDefault) {
  Model model{ModelOptions()};
  EXPECT_EQ(model.FirstByteDelay(Operation::kGetObject).count(), 0);
  EXPECT_EQ(model.FirstByteDelay(Operation::kListObjectsV2).count(), 0);
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(model.Admit(Operation::kGetObject, "b", "k", Model::TimePoint()));
  }
}

TEST(Model, FirstByteTimesAreLognormal) {
  Model model(ModelOptions::S3());
  std::vector<double> ms;
  for (int i = 0; i < 20'000; ++i) {
    ms.push_back(static_cast<double>(model.FirstByteDelay(Operation::kGetObject).count()) / 1e6);
  }
  std::sort(ms.begin(), ms.end());
  EXPECT_NEAR(ms[10'000], 30, 1);
  // One sigma of the logarithm either way.
  EXPECT_NEAR(std::log(ms[16'827] / 30), 0.5, 0.03);
  EXPECT_NEAR(std::log(ms[3'173] / 30), -0.5, 0.03);
  EXPECT_EQ(model.FirstByteDelay(Operation::kListObjectsV2), milliseconds(100));
}

TEST(Model, EachPrefixHasItsOwnRate) {
  ModelOptions options;
  options.gets_per_second = 100;
  options.puts_per_second = 10;
  Model model(options);
  Model::TimePoint now{};
  auto admitted = [&](Operation op, std::string_view key, int asked) {
    int n = 0;
    for (int i = 0; i < asked; ++i) n += model.Admit(op, "b", key, now) ? 1 : 0;
    return n;
  };
  EXPECT_EQ(admitted(Operation::kGetObject, "p/a", 1000), 25) << "a quarter of a second at once";
  EXPECT_EQ(admitted(Operation::kGetObject, "p/other key", 1000), 0);
  EXPECT_EQ(admitted(Operation::kGetObject, "q/a", 1000), 25) << "another prefix";
  EXPECT_EQ(admitted(Operation::kHeadObject, "q/a", 1000), 0) << "HEAD counts as GET";
  EXPECT_EQ(admitted(Operation::kPutObject, "p/a", 1000), 2) << "writes count apart";
  now += milliseconds(100);
  EXPECT_EQ(admitted(Operation::kGetObject, "p/a", 1000), 10);
  now += std::chrono::hours(1);
  EXPECT_EQ(admitted(Operation::kGetObject, "p/a", 1000), 25);
  EXPECT_EQ(admitted(Operation::kListObjectsV2, "", 1000), 1000) << "listings are not limited";
}

}  // namespace
}  // namespace headrace::devserver
