#include "devserver/faults.h"

#include <gtest/gtest.h>

namespace headrace::devserver {
namespace {

// Which of `count` GETs of `key` are struck, from 1.
std::vector<int> Struck(FaultInjector& faults, int count, std::string_view key = "k") {
  std::vector<int> struck;
  for (int i = 1; i <= count; ++i) {
    if (faults.Match(Operation::kGetObject, "b", key)) struck.push_back(i);
  }
  return struck;
}

TEST(Faults, NthEveryAndTimesSelectRequests) {
  FaultInjector faults;
  ASSERT_TRUE(faults.SetRules(R"([{"nth": 3, "do": "close"}])").ok());
  EXPECT_EQ(Struck(faults, 10), (std::vector<int>{3}));
  ASSERT_TRUE(faults.SetRules(R"([{"every": 4, "do": "close"}])").ok());
  EXPECT_EQ(Struck(faults, 10), (std::vector<int>{4, 8}));
  ASSERT_TRUE(faults.SetRules(R"([{"times": 2, "do": "close"}])").ok());
  EXPECT_EQ(Struck(faults, 10), (std::vector<int>{1, 2}));
  ASSERT_TRUE(faults.SetRules("[]").ok());
  EXPECT_TRUE(Struck(faults, 10).empty());
}

TEST(Faults, OperationBucketAndKeySelectRequests) {
  FaultInjector faults;
  ASSERT_TRUE(faults
                  .SetRules(R"({"rules": [{"operation": ["GetObject", "HeadObject"],
                             "bucket": "b", "key": "train/*.jpg", "do": "close"}]})")
                  .ok());
  EXPECT_TRUE(faults.Match(Operation::kGetObject, "b", "train/a/1.jpg"));
  EXPECT_TRUE(faults.Match(Operation::kHeadObject, "b", "train/.jpg"));
  EXPECT_FALSE(faults.Match(Operation::kPutObject, "b", "train/1.jpg"));
  EXPECT_FALSE(faults.Match(Operation::kGetObject, "c", "train/1.jpg"));
  EXPECT_FALSE(faults.Match(Operation::kGetObject, "b", "train/1.png"));
}

TEST(Faults, TheFirstRuleThatStrikesWins) {
  FaultInjector faults;
  ASSERT_TRUE(
      faults.SetRules(R"([{"nth": 1, "do": "stall", "ms": 5}, {"do": "reset", "at": -3}])").ok());
  EXPECT_EQ(faults.Match(Operation::kGetObject, "b", "k")->kind, FaultKind::kStall);
  EXPECT_EQ(faults.Match(Operation::kGetObject, "b", "k")->kind, FaultKind::kReset);
}

TEST(Faults, ASeedGivesTheSameStrikesAgainAndAboutTheShareAskedFor) {
  constexpr std::string_view kRules =
      R"({"seed": 42, "rules": [{"probability": 0.1, "do": "close"}]})";
  FaultInjector faults;
  ASSERT_TRUE(faults.SetRules(kRules).ok());
  std::vector<int> first = Struck(faults, 5000);
  EXPECT_GT(first.size(), 400U);
  EXPECT_LT(first.size(), 600U);
  ASSERT_TRUE(faults.SetRules(kRules).ok());
  EXPECT_EQ(Struck(faults, 5000), first);
}

TEST(Faults, PositionsCountFromEitherEnd) {
  FaultAction action;
  EXPECT_EQ(action.At(100), 0U);
  action.at = 30;
  EXPECT_EQ(action.At(100), 30U);
  EXPECT_EQ(action.At(10), 10U);
  action.at = -1;
  EXPECT_EQ(action.At(100), 99U);
  EXPECT_EQ(action.At(0), 0U);
}

TEST(Faults, WithoutAnAnswerNothingIsDoneUnlessAsked) {
  auto executes = [](std::string_view rule) {
    FaultInjector faults;
    EXPECT_TRUE(faults.SetRules("[" + std::string(rule) + "]").ok()) << rule;
    return faults.Match(Operation::kPutObject, "b", "k")->execute;
  };
  EXPECT_FALSE(executes(R"({"do": "close"})"));
  EXPECT_FALSE(executes(R"({"do": "status"})"));
  EXPECT_TRUE(executes(R"({"do": "close", "execute": true})"));
  EXPECT_TRUE(executes(R"({"do": "reset", "at": 5})"));
  EXPECT_TRUE(executes(R"({"do": "stall", "ms": 5})"));
}

TEST(Faults, BadRulesNameRuleAndFieldAndLeaveTheOldOnes) {
  FaultInjector faults;
  ASSERT_TRUE(faults.SetRules(R"([{"do": "close"}])").ok());
  for (const auto& [rules, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {"nonsense", "not JSON"},
           {"{}", "list of rules"},
           {R"([{"do": "close"}, {"do": "explode"}])", "fault rule 2: \"do\" is \"explode\""},
           {R"([{"do": "close", "bukket": "b"}])", "unknown field \"bukket\""},
           {R"([{"do": "close", "operation": "GetObjet"}])", "no operation \"GetObjet\""},
           {R"([{"do": "stall"}])", "\"ms\""},
           {R"([{"do": "truncate"}])", "\"at\""},
           {R"([{"do": "drip"}])", "bytes_per_second"},
           {R"([{"do": "wrong-length"}])", "delta"},
           {R"([{"do": "corrupt", "on": "request"}])", "request"},
           {R"([{"do": "close", "probability": 2}])", "probability"},
           {R"([{"do": "close", "nth": 0}])", "count from 1"},
           {R"([{"do": "close", "nth": "x"}])", "fault rule 1"},
           {R"([{}])", "fault rule 1"},
           {"[3]", "object"}}) {
    Status status = faults.SetRules(rules);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << rules;
    EXPECT_NE(status.message().find(expected), std::string::npos) << status.message();
  }
  EXPECT_EQ(Struck(faults, 1).size(), 1U);
}

TEST(Faults, Globs) {
  EXPECT_TRUE(GlobMatch("*", ""));
  EXPECT_TRUE(GlobMatch("a*b?c*", "a/x/b1c"));
  EXPECT_TRUE(GlobMatch("**", "anything"));
  EXPECT_FALSE(GlobMatch("a*b", "abc"));
  EXPECT_FALSE(GlobMatch("", "a"));
  EXPECT_FALSE(GlobMatch("?", ""));
}

}  // namespace
}  // namespace headrace::devserver
