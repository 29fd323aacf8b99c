#include "support/filters.h"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>

#include "support/filter_options.h"

namespace headrace::cli {
namespace {

TEST(Glob, MatchesTheWholeText) {
  EXPECT_TRUE(GlobMatches("*.jpg", "a/b/1.jpg"));  // '*' also fits '/'
  EXPECT_TRUE(GlobMatches("a/*", "a/b/c"));
  EXPECT_FALSE(GlobMatches("*.jpg", "1.jpg.txt"));
  EXPECT_TRUE(GlobMatches("?[0-9][!a-c]", "x5d"));
  EXPECT_FALSE(GlobMatches("?[0-9][!a-c]", "x5b"));
  EXPECT_TRUE(GlobMatches("[]x]", "]"));
  EXPECT_TRUE(GlobMatches("a[b", "a[b"));
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_FALSE(GlobMatches("?", ""));
  EXPECT_TRUE(GlobMatches("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(GlobMatches("a*b*c", "a-b-b-d"));
  EXPECT_TRUE(GlobMatches("[\xc3][\xbc]", "\xc3\xbc"));
}

TEST(Glob, HostilePatternsAreNotExponential) {
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "*a";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(GlobMatches(pattern + "b", std::string(2000, 'a')));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Filters, TheLastThatFitsDecides) {
  Filters filters;
  EXPECT_TRUE(filters.Accepts("x"));
  filters.Exclude("*");
  filters.Include("*.jpg");
  filters.Exclude("tmp/*");
  EXPECT_TRUE(filters.Accepts("a/1.jpg"));
  EXPECT_FALSE(filters.Accepts("a/1.png"));
  EXPECT_FALSE(filters.Accepts("tmp/1.jpg"));
}

TEST(FilterOptions, KeepTheOrderBetweenTheTwoOptions) {
  auto accepts = [](std::vector<std::string> arguments, const char* path) {
    CLI::App app;
    FilterOptions options;
    AddFilterOptions(app, &options);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 parses from the back
    app.parse(arguments);
    return MakeFilters(options).Accepts(path);
  };
  EXPECT_TRUE(accepts({"--exclude", "*", "--include", "*.jpg"}, "1.jpg"));
  EXPECT_FALSE(accepts({"--include", "*.jpg", "--exclude", "*"}, "1.jpg"));
  EXPECT_FALSE(accepts({"--exclude", "*", "--include", "*.jpg", "--exclude", "1*"}, "1.jpg"));
  EXPECT_TRUE(accepts({"--exclude", "1*", "--exclude", "2*", "--include", "1*"}, "1.jpg"));
}

}  // namespace
}  // namespace headrace::cli
