#include "s3/wire_request.h"

#include <gtest/gtest.h>

namespace headrace::s3 {
namespace {

class WireRequestTest : public testing::Test {
 protected:
  WireRequestTest() : route_(endpoints_.For("bucket", "a key")) {
    request_.bucket = "bucket";
    request_.key = "a key";
  }
  Result<net::Request> Build(std::uint64_t received = 0, std::string_view if_match = "") {
    return BuildWireRequest({.request = request_,
                             .route = route_,
                             .credentials = credentials_,
                             .received = received,
                             .if_match = if_match,
                             .time = WallTime(std::chrono::seconds(1'700'000'000))},
                            options_, signer_);
  }
  net::Headers HeadersOf(std::uint64_t received = 0, std::string_view if_match = "") {
    return Build(received, if_match)->headers;
  }

  BucketEndpoints endpoints_{*Endpoint::FromUrl("http://127.0.0.1:9000", "us-east-1")};
  Route route_;
  S3Request request_;
  WireOptions options_;
  Signer signer_;
  Credentials keys_{"AKID", "secret", "token", std::nullopt};
  const Credentials* credentials_ = nullptr;
};

TEST_F(WireRequestTest, NamesTheObject) {
  request_.query = "tagging=";
  const Result<net::Request> wire = Build();
  ASSERT_TRUE(wire.ok());
  EXPECT_EQ(wire->method, "GET");
  EXPECT_EQ(wire->url, "http://127.0.0.1:9000/bucket/a%20key?tagging=");
}

TEST_F(WireRequestTest, AsksForWhatIsMissing) {
  EXPECT_FALSE(HeadersOf().Has("Range"));
  EXPECT_EQ(HeadersOf(10).Get("Range"), "bytes=10-");
  request_.range = S3Request::Range{100, 50};
  EXPECT_EQ(HeadersOf().Get("Range"), "bytes=100-149");
  EXPECT_EQ(HeadersOf(10).Get("Range"), "bytes=110-149");
  EXPECT_EQ(Build(10)->expected_body, 40U);
}

TEST_F(WireRequestTest, QuotesTheVersion) {
  EXPECT_FALSE(HeadersOf().Has("If-Match"));
  EXPECT_EQ(HeadersOf(0, "abc").Get("If-Match"), "\"abc\"");
}

TEST_F(WireRequestTest, IsSignedWithCredentialsOnly) {
  EXPECT_FALSE(HeadersOf().Has("Authorization"));
  credentials_ = &keys_;
  options_.requester_pays = true;
  request_.headers.emplace_back("Content-MD5", "x");
  const net::Headers headers = HeadersOf(10);
  const std::string_view authorization = headers.Get("Authorization");
  EXPECT_NE(authorization.find("SignedHeaders=content-md5;host;x-amz-content-sha256;x-amz-date;"
                               "x-amz-request-payer;x-amz-security-token,"),
            std::string_view::npos)
      << authorization;
  EXPECT_EQ(headers.Get("x-amz-security-token"), "token");
  EXPECT_EQ(headers.Get("x-amz-date"), "20231114T221320Z");
}

TEST_F(WireRequestTest, SignsBodiesWhenAsked) {
  credentials_ = &keys_;
  EXPECT_EQ(HeadersOf().Get("x-amz-content-sha256"), kEmptyPayloadHash);
  request_.body = Buffer::FromString("body");
  EXPECT_EQ(HeadersOf().Get("x-amz-content-sha256"), kUnsignedPayload);
  options_.sign_payload = true;
  EXPECT_EQ(HeadersOf().Get("x-amz-content-sha256"), Sha256Hex("body"));
}

TEST_F(WireRequestTest, RefusesHeadersThatWouldBecomeTwo) {
  request_.headers.emplace_back("x-amz-meta-a", "b\r\nx-amz-acl: public-read");
  const Status status = Build().status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "header x-amz-meta-a holds a line break or a NUL");
}

}  // namespace
}  // namespace headrace::s3
