#include "s3/reply_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::s3 {
namespace {

using testing::HasSubstr;

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

net::Headers Head(std::initializer_list<std::pair<std::string_view, std::string_view>> lines) {
  net::Headers headers;
  for (const auto& [name, value] : lines) headers.Add(name, value);
  return headers;
}

class ReplyBuilderTest : public testing::Test {
 protected:
  ReplyBuilder Make() { return {&request_, &buffers_}; }

  S3Request request_{.bucket = "b", .key = "k"};
  BufferPool buffers_{1 << 20};
};

TEST_F(ReplyBuilderTest, AWholeBodyIsComparedWithItsChecksum) {
  request_.verify_checksum = true;
  for (const auto& [name, value] : {std::pair("x-amz-checksum-crc32", "y/Q5Jg=="),
                                    std::pair("x-amz-checksum-crc32c", "4waSgw=="),
                                    std::pair("x-amz-checksum-crc64nvme", "rosUhgp5mIg=")}) {
    const net::Headers head = Head({{"Content-Length", "9"}, {"ETag", "\"e\""}, {name, value}});
    ReplyBuilder good = Make();
    ASSERT_TRUE(good.Accept(200, head).ok());
    EXPECT_TRUE(good.Append(Bytes("1234")));
    EXPECT_TRUE(good.Append(Bytes("56789")));
    EXPECT_TRUE(good.Verify().ok()) << name;
    EXPECT_EQ(good.etag(), "e");
    EXPECT_EQ(good.Take().body.view(), "123456789");

    ReplyBuilder bad = Make();
    ASSERT_TRUE(bad.Accept(200, head).ok());
    EXPECT_TRUE(bad.Append(Bytes("123456780")));
    EXPECT_EQ(bad.Verify().code(), StatusCode::kChecksumMismatch) << name;
    EXPECT_THAT(bad.Verify().message(), HasSubstr("s3://b/k"));
  }
}

TEST_F(ReplyBuilderTest, ABodyThatBrokeOffGoesOnBehindWhatCame) {
  request_.verify_checksum = true;
  ReplyBuilder reply = Make();
  ASSERT_TRUE(reply
                  .Accept(200, Head({{"Content-Length", "9"},
                                     {"ETag", "\"e\""},
                                     {"x-amz-checksum-crc32c", "4waSgw=="}}))
                  .ok());
  EXPECT_TRUE(reply.Append(Bytes("1234")));
  EXPECT_EQ(reply.next_offset(), 4U);
  ASSERT_TRUE(reply.Accept(206, Head({{"Content-Range", "bytes 4-8/9"}, {"ETag", "\"e\""}})).ok());
  EXPECT_TRUE(reply.Append(Bytes("56789")));
  EXPECT_TRUE(reply.Verify().ok());
  const S3Reply whole = reply.Take();
  EXPECT_EQ(whole.body.view(), "123456789");
  EXPECT_EQ(whole.status, 200);
}

TEST_F(ReplyBuilderTest, BytesOfAnotherVersionOrPlaceAreRefused) {
  request_.range = S3Request::Range{10, 5};
  request_.etag = "old";
  ReplyBuilder reply = Make();
  EXPECT_EQ(
      reply.Accept(206, Head({{"Content-Range", "bytes 10-14/20"}, {"ETag", "\"new\""}})).code(),
      StatusCode::kObjectChanged);
  for (const char* range : {"bytes 11-14/20", "bytes 0-4/20", "", "nonsense"}) {
    EXPECT_EQ(reply.Accept(206, Head({{"Content-Range", range}, {"ETag", "\"old\""}})).code(),
              StatusCode::kProtocol)
        << range;
  }
  const Status ignored = reply.Accept(200, Head({{"Content-Length", "20"}, {"ETag", "\"old\""}}));
  EXPECT_EQ(ignored.code(), StatusCode::kUnsupported);
  EXPECT_THAT(ignored.message(), HasSubstr("ignored the Range header"));
}

// A captive portal's page, a gateway's empty answer.
TEST_F(ReplyBuilderTest, WhatIsNotAnObjectIsRefused) {
  const net::Headers page = Head({{"Content-Length", "5"}, {"Content-Type", "text/html"}});
  for (const char* pinned : {"", "e"}) {
    request_.etag = pinned;
    const Status status = Make().Accept(200, page);
    EXPECT_EQ(status.code(), StatusCode::kProtocol);
    EXPECT_THAT(status.message(), HasSubstr("HTTP 200, text/html and no ETag"));
    EXPECT_EQ(Make().Accept(204, {}).code(), StatusCode::kProtocol);
    EXPECT_EQ(Make().Accept(204, Head({{"ETag", "e"}})).code(), StatusCode::kProtocol);
  }
  request_.range = S3Request::Range{0, 5};
  EXPECT_EQ(Make().Accept(206, Head({{"Content-Range", "bytes 0-4/5"}})).code(),
            StatusCode::kProtocol);
}

TEST_F(ReplyBuilderTest, ARangeThatEndsEarlyIsNotWhole) {
  std::string into(5, '\0');
  request_.range = S3Request::Range{10, 5};
  request_.into = std::as_writable_bytes(std::span(into));
  ReplyBuilder reply = Make();
  ASSERT_TRUE(reply.Accept(206, Head({{"Content-Range", "bytes 10-14/20"}, {"ETag", "e"}})).ok());
  EXPECT_TRUE(reply.Append(Bytes("abcd")));
  EXPECT_EQ(reply.Verify().code(), StatusCode::kProtocol);
  EXPECT_FALSE(reply.range_complete());
  EXPECT_TRUE(reply.Append(Bytes("e")));
  EXPECT_TRUE(reply.Verify().ok());
  EXPECT_TRUE(reply.range_complete());
  EXPECT_EQ(into, "abcde");
}

TEST_F(ReplyBuilderTest, AFewBytesOfManyAreNoAdvance) {
  const std::string much(64 << 10, 'x');
  ReplyBuilder reply = Make();
  ASSERT_TRUE(reply.Accept(200, Head({{"Content-Length", "1000000"}, {"ETag", "e"}})).ok());
  EXPECT_TRUE(reply.Append(Bytes("xx")));
  EXPECT_FALSE(reply.Advanced(0));
  EXPECT_TRUE(reply.Append(Bytes(much)));
  EXPECT_TRUE(reply.Advanced(2));
  EXPECT_FALSE(reply.Advanced(reply.received()));
  // Of little, half is a good deal.
  request_.range = S3Request::Range{0, 4};
  ReplyBuilder small = Make();
  ASSERT_TRUE(small.Accept(206, Head({{"Content-Range", "bytes 0-3/9"}, {"ETag", "e"}})).ok());
  EXPECT_TRUE(small.Append(Bytes("x")));
  EXPECT_FALSE(small.Advanced(0));
  EXPECT_TRUE(small.Append(Bytes("x")));
  EXPECT_TRUE(small.Advanced(0));
}

TEST_F(ReplyBuilderTest, KeepsAtMostWhatIsWanted) {
  request_.keep_at_most = 4;
  request_.verify_checksum = true;
  ReplyBuilder reply = Make();
  ASSERT_TRUE(reply
                  .Accept(200, Head({{"Content-Length", "9"},
                                     {"ETag", "e"},
                                     {"x-amz-checksum-crc32c", "4waSgw=="}}))
                  .ok());
  EXPECT_FALSE(reply.Append(Bytes("123456")));
  EXPECT_TRUE(reply.cut_short());
  EXPECT_TRUE(reply.Verify().ok());
  const S3Reply kept = reply.Take();
  EXPECT_EQ(kept.body.view(), "1234");
  EXPECT_EQ(kept.object_size, 9U);
}

TEST_F(ReplyBuilderTest, KeepsOfARangeWhatWasAskedForWhereTheServerSendsAll) {
  request_.range = S3Request::Range{0, 4};
  ReplyBuilder reply = Make();
  const std::string huge = std::to_string(std::uint64_t{1} << 50);
  ASSERT_TRUE(reply.Accept(200, Head({{"Content-Length", huge}, {"ETag", "e"}})).ok());
  EXPECT_FALSE(reply.Append(Bytes("123456")));
  EXPECT_TRUE(reply.cut_short());
  EXPECT_TRUE(reply.Verify().ok());
  EXPECT_EQ(reply.Take().body.view(), "1234");
}

TEST_F(ReplyBuilderTest, GrowsWhereNoLengthIsTold) {
  ReplyBuilder reply = Make();
  ASSERT_TRUE(reply.Accept(200, Head({{"ETag", "e"}})).ok());
  const std::string piece(50'000, 'x');
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(reply.Append(Bytes(piece)));
  EXPECT_EQ(reply.Take().body.size(), 500'000U);
}

TEST_F(ReplyBuilderTest, NothingThereIsAnAnswerToARangeBehindTheEnd) {
  EXPECT_FALSE(Make().AcceptNothingThere(416, {}, 7));
  request_.range = S3Request::Range{10, 5};
  ReplyBuilder reply = Make();
  EXPECT_TRUE(reply.AcceptNothingThere(416, {}, 7));
  EXPECT_EQ(reply.Take().object_size, 7U);
  // After some bytes: only where the object ends exactly there.
  ReplyBuilder broken = Make();
  ASSERT_TRUE(broken.Accept(206, Head({{"Content-Range", "bytes 10-12/13"}, {"ETag", "e"}})).ok());
  EXPECT_TRUE(broken.Append(Bytes("abc")));
  EXPECT_FALSE(broken.AcceptNothingThere(416, {}, 12));
  EXPECT_TRUE(broken.AcceptNothingThere(416, {}, 13));
}

}  // namespace
}  // namespace headrace::s3
