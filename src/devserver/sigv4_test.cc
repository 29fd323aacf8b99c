// The vectors are those of "Authenticating Requests (AWS Signature Version 4)" in Amazon's S3 API
// reference: GET with Range, PUT, GET ?lifecycle, list, presigned URL, chunked upload.
#include "devserver/sigv4.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "devserver/digest.h"
#include "devserver/sigv2.h"
#include "devserver/text.h"

namespace headrace::devserver {
namespace {

constexpr std::string_view kSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
constexpr std::int64_t kNow = 1369353600;  // 2013-05-24T00:00:00Z

Authenticator MakeAuthenticator(std::string region = "us-east-1") {
  return Authenticator({"AKIAIOSFODNN7EXAMPLE", std::string(kSecret), std::move(region)});
}

Result<AuthInfo> Check(std::string_view text, std::int64_t now = kNow,
                       std::string region = "us-east-1") {
  RequestHead head;
  QueryParams query;
  Status parsed = head.Parse(text);
  if (parsed.ok()) parsed = query.Parse(head.query());
  if (!parsed.ok()) return parsed;
  Authenticator authenticator = MakeAuthenticator(std::move(region));
  return authenticator.Check(head, query, now);
}

std::string CodeOf(const Result<AuthInfo>& result) {
  return result.ok() ? "OK" : result.status().info().s3_code;
}

std::string Signed(std::string_view start, std::string_view headers, std::string_view names,
                   std::string_view signature) {
  return fmt::format(
      "{} HTTP/1.1\r\nHost: examplebucket.s3.amazonaws.com\r\n{}Authorization: AWS4-HMAC-SHA256 "
      "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders={},"
      "Signature={}\r\n\r\n",
      start, headers, names, signature);
}

const std::string kGetHeaders =
    fmt::format("Range: bytes=0-9\r\nx-amz-content-sha256: {}\r\nx-amz-date: 20130524T000000Z\r\n",
                kEmptySha256Hex);
constexpr std::string_view kGetNames = "host;range;x-amz-content-sha256;x-amz-date";
constexpr std::string_view kGetSignature =
    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";

TEST(SigV4, AcceptsThePublishedGet) {
  auto auth = Check(Signed("GET /test.txt", kGetHeaders, kGetNames, kGetSignature));
  ASSERT_EQ(CodeOf(auth), "OK");
  EXPECT_FALSE(auth->anonymous);
  EXPECT_EQ(auth->access_key, "AKIAIOSFODNN7EXAMPLE");
  EXPECT_EQ(auth->payload, PayloadMode::kSha256);
}

TEST(SigV4, AcceptsThePublishedPut) {
  EXPECT_EQ(
      CodeOf(Check(Signed("PUT /test%24file.text",
                          "Date: Fri, 24 May 2013 00:00:00 GMT\r\nx-amz-date: 20130524T000000Z\r\n"
                          "x-amz-storage-class: REDUCED_REDUNDANCY\r\nx-amz-content-sha256: "
                          "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072\r\n",
                          "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                          "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"))),
      "OK");
}

TEST(SigV4, AcceptsThePublishedSubresourceAndListing) {
  std::string headers =
      fmt::format("x-amz-date: 20130524T000000Z\r\nx-amz-content-sha256: {}\r\n", kEmptySha256Hex);
  constexpr std::string_view kNames = "host;x-amz-content-sha256;x-amz-date";
  EXPECT_EQ(
      CodeOf(Check(Signed("GET /?lifecycle", headers, kNames,
                          "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"))),
      "OK");
  EXPECT_EQ(
      CodeOf(Check(Signed("GET /?max-keys=2&prefix=J", headers, kNames,
                          "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))),
      "OK");
}

constexpr std::string_view kPresigned =
    "GET "
    "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524"
    "%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"
    "&X-Amz-SignedHeaders=host&X-Amz-Signature="
    "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404 HTTP/1.1\r\n"
    "Host: examplebucket.s3.amazonaws.com\r\n\r\n";

TEST(SigV4, AcceptsThePublishedPresignedUrlUntilItExpires) {
  EXPECT_EQ(CodeOf(Check(kPresigned)), "OK");
  EXPECT_EQ(CodeOf(Check(kPresigned, kNow + 86400)), "OK");
  EXPECT_EQ(CodeOf(Check(kPresigned, kNow + 86401)), "AccessDenied");
  EXPECT_EQ(CodeOf(Check(kPresigned, kNow - 3600)), "AccessDenied") << "not yet valid";
}

TEST(SigV4, RefusesWhatWasChangedAfterSigning) {
  std::string good = Signed("GET /test.txt", kGetHeaders, kGetNames, kGetSignature);
  auto with = [&good](std::string_view from, std::string_view to) {
    std::string changed = good;
    std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos);
    return changed.replace(at, from.size(), to);
  };
  EXPECT_EQ(CodeOf(Check(with("/test.txt", "/test2.txt"))), "SignatureDoesNotMatch");
  EXPECT_EQ(CodeOf(Check(with("/test.txt", "/test.txt?a"))), "SignatureDoesNotMatch");
  EXPECT_EQ(CodeOf(Check(with("bytes=0-9", "bytes=0-8"))), "SignatureDoesNotMatch");
  EXPECT_EQ(CodeOf(Check(with("examplebucket.", "other."))), "SignatureDoesNotMatch");
  EXPECT_EQ(CodeOf(Check(with("GET", "PUT"))), "SignatureDoesNotMatch");
  EXPECT_EQ(CodeOf(Check(with("f0e8", "f0e9"))), "SignatureDoesNotMatch");
  EXPECT_EQ(CodeOf(Check(with("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLF"))),
            "InvalidAccessKeyId");
  EXPECT_EQ(CodeOf(Check(with("Range:", "x-amz-acl: private\r\nRange:"))), "AccessDenied")
      << "an x-amz- header outside the signature";
}

TEST(SigV4, NamesClockAndRegion) {
  std::string good = Signed("GET /test.txt", kGetHeaders, kGetNames, kGetSignature);
  EXPECT_EQ(CodeOf(Check(good, kNow + 899)), "OK");
  EXPECT_EQ(CodeOf(Check(good, kNow + 901)), "RequestTimeTooSkewed");
  EXPECT_EQ(CodeOf(Check(good, kNow - 901)), "RequestTimeTooSkewed");
  auto wrong_region = Check(good, kNow, "eu-west-1");
  EXPECT_EQ(CodeOf(wrong_region), "AuthorizationHeaderMalformed");
  EXPECT_NE(wrong_region.status().message().find("expecting 'eu-west-1'"), std::string::npos);
}

TEST(SigV4, RefusesMalformedHeaders) {
  auto header = [](std::string_view value) {
    return fmt::format(
        "GET / HTTP/1.1\r\nHost: h\r\nx-amz-date: 20130524T000000Z\r\n"
        "Authorization: {}\r\n\r\n",
        value);
  };
  EXPECT_EQ(CodeOf(Check(header("Basic abc"))), "InvalidRequest");
  EXPECT_EQ(CodeOf(Check(header("AWS4-HMAC-SHA256 "))), "AuthorizationHeaderMalformed");
  EXPECT_EQ(CodeOf(Check(header("AWS4-HMAC-SHA256 Credential=a/b,SignedHeaders=host,Signature=x"))),
            "AuthorizationHeaderMalformed");
  EXPECT_EQ(CodeOf(Check("GET /?X-Amz-Signature=1 HTTP/1.1\r\nHost: h\r\n\r\n")),
            "AuthorizationQueryParametersError");
}

TEST(SigV4, WithoutASignatureTheCallerIsAnonymous) {
  auto auth = Check("GET /k HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(auth.ok());
  EXPECT_TRUE(auth->anonymous);
}

// 66,560 bytes of `a` in chunks of 64 KiB.
TEST(SigV4, VerifiesThePublishedChunkedUpload) {
  auto auth =
      Check(Signed("PUT /examplebucket/chunkObject.txt",
                   "x-amz-date: 20130524T000000Z\r\nx-amz-storage-class: REDUCED_REDUNDANCY\r\n"
                   "x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\nContent-Encoding: "
                   "aws-chunked\r\n"
                   "x-amz-decoded-content-length: 66560\r\nContent-Length: 66824\r\n",
                   "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;"
                   "x-amz-decoded-content-length;x-amz-storage-class",
                   "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"));
  // The published example is of host s3.amazonaws.com.
  EXPECT_EQ(CodeOf(auth), "SignatureDoesNotMatch");

  AuthInfo seed;
  seed.signing_key = DeriveSigningKey(kSecret, "20130524", "us-east-1", "s3");
  seed.amz_date = "20130524T000000Z";
  seed.scope = "20130524/us-east-1/s3/aws4_request";
  seed.seed_signature = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
  ChunkVerifier verifier(seed);
  EXPECT_TRUE(verifier
                  .CheckChunk(Sha256(std::string(65536, 'a')),
                              "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648")
                  .ok());
  EXPECT_TRUE(verifier
                  .CheckChunk(Sha256(std::string(1024, 'a')),
                              "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497")
                  .ok());
  EXPECT_TRUE(verifier
                  .CheckChunk(Sha256(""),
                              "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9")
                  .ok());
  EXPECT_FALSE(verifier.CheckChunk(Sha256(""), std::string(64, '0')).ok());
}

// "Authenticating Requests (AWS Signature Version 2)" gives the signature of this string.
TEST(SigV2, SignsThePublishedUrl) {
  RequestHead head;
  ASSERT_TRUE(head.Parse("GET /johnsmith/photos/puppy.jpg?AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE"
                         "&Expires=1175139620 HTTP/1.1\r\nHost: s3.amazonaws.com\r\n\r\n")
                  .ok());
  QueryParams query;
  ASSERT_TRUE(query.Parse(head.query()).ok());
  std::string to_sign = StringToSignV2(head, query);
  EXPECT_EQ(to_sign, "GET\n\n\n1175139620\n/johnsmith/photos/puppy.jpg");
  EXPECT_EQ(SignatureV2(kSecret, to_sign), "NpgCjnDzrM+WFzoENXmpNDUsSn8=");
}

}  // namespace
}  // namespace headrace::devserver
