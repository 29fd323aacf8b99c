#include "devserver/http_request.h"

#include <gtest/gtest.h>

namespace headrace::devserver {
namespace {

TEST(RequestHead, ReadsARequest) {
  RequestHead head;
  ASSERT_TRUE(head.Parse("PUT /b/k%20x?a=1&b HTTP/1.1\r\nHost: h:1\r\nX-Amz-Meta-A:  b c \t\r\n"
                         "Content-Length: 12\r\nExpect: 100-Continue\r\n\r\n")
                  .ok());
  EXPECT_EQ(head.method(), "PUT");
  EXPECT_EQ(head.path(), "/b/k%20x");
  EXPECT_EQ(head.query(), "a=1&b");
  EXPECT_EQ(head.Header("host"), "h:1");
  EXPECT_EQ(head.Header("x-amz-meta-a"), "b c");
  EXPECT_EQ(head.content_length(), 12U);
  EXPECT_TRUE(head.keep_alive());
  EXPECT_TRUE(head.expects_continue());
  EXPECT_FALSE(head.chunked());
}

TEST(RequestHead, TakesTheAbsoluteFormThatProxiesGet) {
  RequestHead head;
  ASSERT_TRUE(head.Parse("GET http://b.example/k?x HTTP/1.1\r\nHost: h\r\n\r\n").ok());
  EXPECT_EQ(head.path(), "/k");
  EXPECT_EQ(head.query(), "x");
  ASSERT_TRUE(head.Parse("GET http://b.example HTTP/1.1\r\nHost: h\r\n\r\n").ok());
  EXPECT_EQ(head.path(), "/");
}

TEST(RequestHead, KeepAliveFollowsVersionAndHeader) {
  RequestHead head;
  ASSERT_TRUE(head.Parse("GET / HTTP/1.0\r\n\r\n").ok());
  EXPECT_FALSE(head.keep_alive());
  ASSERT_TRUE(head.Parse("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").ok());
  EXPECT_TRUE(head.keep_alive());
  ASSERT_TRUE(head.Parse("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").ok());
  EXPECT_FALSE(head.keep_alive());
}

TEST(RequestHead, RefusesWhatTwoServersCouldReadInTwoWays) {
  for (const char* bad : {
           "GET /\r\n\r\n",
           "GET  HTTP/1.1\r\n\r\n",
           "GET / HTTP/2.0\r\n\r\n",
           "G(T / HTTP/1.1\r\n\r\n",
           "GET /a b HTTP/1.1\r\n\r\n",
           "GET nowhere HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1\r\nno colon\r\n\r\n",
           "GET / HTTP/1.1\r\nSpaced : v\r\n\r\n",
           "GET / HTTP/1.1\r\n folded: v\r\n\r\n",
           "GET / HTTP/1.1\r\n: v\r\n\r\n",
           "GET / HTTP/1.1\r\na: x\ny\r\n\r\n",
           "PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
           "PUT / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n",
           "PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
           "PUT / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
           "PUT / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
       }) {
    RequestHead head;
    EXPECT_FALSE(head.Parse(bad).ok()) << bad;
  }
}

TEST(QueryParams, KeepOrderAndDecode) {
  QueryParams query;
  ASSERT_TRUE(query.Parse("b=2&a=%2F+x&flag&&empty=").ok());
  EXPECT_EQ(query.Get("a"), "/ x");
  EXPECT_TRUE(query.Has("flag"));
  EXPECT_TRUE(query.Has("empty"));
  EXPECT_FALSE(query.Has("absent"));
  EXPECT_EQ(query.all().size(), 4U);
  EXPECT_FALSE(query.Parse("a=%zz").ok());
}

struct RangeCase {
  const char* header;
  std::uint64_t size;
  RangeKind kind;
  std::uint64_t offset;
  std::uint64_t length;
};

TEST(Range, FollowsTheStandard) {
  for (const RangeCase& c : std::initializer_list<RangeCase>{
           {"bytes=0-0", 10, RangeKind::kPartial, 0, 1},
           {"bytes=2-5", 10, RangeKind::kPartial, 2, 4},
           {"bytes=2-500", 10, RangeKind::kPartial, 2, 8},
           {"bytes=9-", 10, RangeKind::kPartial, 9, 1},
           {"bytes=-3", 10, RangeKind::kPartial, 7, 3},
           {"bytes=-30", 10, RangeKind::kPartial, 0, 10},
           {"bytes=10-", 10, RangeKind::kUnsatisfiable, 0, 10},
           {"bytes=10-12", 10, RangeKind::kUnsatisfiable, 0, 10},
           {"bytes=-0", 10, RangeKind::kUnsatisfiable, 0, 10},
           {"bytes=0-0", 0, RangeKind::kUnsatisfiable, 0, 0},
           {"bytes=-1", 0, RangeKind::kUnsatisfiable, 0, 0},
           {"bytes=5-2", 10, RangeKind::kWhole, 0, 10},
           {"bytes=-", 10, RangeKind::kWhole, 0, 10},
           {"bytes=0-1,3-4", 10, RangeKind::kWhole, 0, 10},
           {"bytes=a-b", 10, RangeKind::kWhole, 0, 10},
           {"items=0-1", 10, RangeKind::kWhole, 0, 10},
       }) {
    ByteRange range;
    EXPECT_EQ(ResolveRange(c.header, c.size, &range), c.kind) << c.header;
    EXPECT_EQ(range.offset, c.offset) << c.header;
    EXPECT_EQ(range.length, c.length) << c.header;
  }
}

}  // namespace
}  // namespace headrace::devserver
