#include "net/http.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace headrace::net {
namespace {

class ProxyEnvironment : public testing::Test {
 protected:
  void SetUp() override { Clear(); }
  void TearDown() override { Clear(); }
  static void Clear() {
    for (const char* v : {"no_proxy", "NO_PROXY", "http_proxy", "HTTP_PROXY", "https_proxy",
                          "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) {
      unsetenv(v);
    }
  }
};

TEST(Headers, NamesCompareWithoutCase) {
  Headers headers;
  headers.Add("ETag", "\"x\"");
  EXPECT_EQ(headers.Get("etag"), "\"x\"");
  EXPECT_FALSE(headers.Has("eta"));
  EXPECT_EQ(headers.Get("absent"), "");
}

TEST(Headers, KeepTheirOrderAndAnyNumber) {
  Headers headers;
  for (int i = 0; i < 100; ++i) headers.Add(std::to_string(i), std::string(i, 'v'));
  ASSERT_EQ(headers.size(), 100U);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    EXPECT_EQ(headers[i].name, std::to_string(i));
    EXPECT_EQ(headers[i].value, std::string(i, 'v'));
  }
  headers.Clear();
  EXPECT_EQ(headers.size(), 0U);
  EXPECT_FALSE(headers.Has("0"));
}

TEST_F(ProxyEnvironment, NoneByDefault) { EXPECT_EQ(ProxyFor("https", "a.example"), ""); }

TEST_F(ProxyEnvironment, SchemeDecides) {
  setenv("https_proxy", "http://p:1", 1);
  setenv("HTTP_PROXY", "http://evil:1", 1);
  EXPECT_EQ(ProxyFor("https", "a.example"), "http://p:1");
  EXPECT_EQ(ProxyFor("http", "a.example"), "");
  setenv("ALL_PROXY", "http://all:1", 1);
  EXPECT_EQ(ProxyFor("http", "a.example"), "http://all:1");
}

TEST_F(ProxyEnvironment, NoProxyMatchesWholeLabels) {
  setenv("https_proxy", "http://p:1", 1);
  setenv("no_proxy", "localhost, .example.com,10.0.0.1", 1);
  EXPECT_EQ(ProxyFor("https", "example.com"), "");
  EXPECT_EQ(ProxyFor("https", "s3.example.com"), "");
  EXPECT_EQ(ProxyFor("https", "notexample.com"), "http://p:1");
  EXPECT_EQ(ProxyFor("https", "10.0.0.1"), "");
  setenv("no_proxy", "*", 1);
  EXPECT_EQ(ProxyFor("https", "anything"), "");
}

}  // namespace
}  // namespace headrace::net
