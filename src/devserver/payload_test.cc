#include "devserver/payload.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "devserver/text.h"

namespace headrace::devserver {
namespace {

struct Outcome {
  std::string code;  // "OK" or S3's
  std::string body;
  std::optional<Checksum> checksum;
};

// Receives `body`, sent with `headers`, byte by byte and in one piece: both must end alike.
Outcome Receive(const std::string& headers, std::string_view body, AuthInfo auth) {
  Outcome outcome;
  for (std::size_t piece : {std::size_t{1}, body.size() + 1}) {
    RequestHead head;
    EXPECT_TRUE(head.Parse(fmt::format("PUT /b/k HTTP/1.1\r\n{}\r\n", headers)).ok());
    auto payload = Payload::Create(head, auth, {});
    if (!payload.ok()) return {payload.status().info().s3_code, "", {}};
    for (std::size_t at = 0; at < body.size(); at += piece) {
      (*payload)->Write(body.substr(at, piece));
    }
    Status status = (*payload)->Finish();
    outcome = {status.ok() ? "OK" : status.info().s3_code, (*payload)->memory(),
               (*payload)->checksum()};
  }
  return outcome;
}

AuthInfo Mode(PayloadMode mode, std::string sha256 = "") {
  AuthInfo auth;
  auth.payload = mode;
  auth.payload_sha256 = std::move(sha256);
  return auth;
}

TEST(Payload, VerifiesEveryKindOfDigest) {
  AuthInfo plain = Mode(PayloadMode::kUnsigned);
  EXPECT_EQ(Receive("", "123456789", plain).body, "123456789");
  EXPECT_EQ(Receive("Content-MD5: JfnnlDI7RTiF9RgfG2JNCw==\r\n", "123456789", plain).code, "OK");
  EXPECT_EQ(Receive("Content-MD5: JfnnlDI7RTiF9RgfG2JNCw==\r\n", "other", plain).code, "BadDigest");
  EXPECT_EQ(Receive("Content-MD5: short\r\n", "x", plain).code, "InvalidDigest");
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"crc32", "y/Q5Jg=="},
           {"crc32c", "4waSgw=="},
           {"crc64nvme", "rosUhgp5mIg="},
           {"sha1", "98O8HYCOBHMq32eZZczDTKeuNEE="},
           {"sha256", "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="}}) {
    std::string header = fmt::format("x-amz-checksum-{}: {}\r\n", name, value);
    Outcome good = Receive(header, "123456789", plain);
    EXPECT_EQ(good.code, "OK") << name;
    EXPECT_EQ(good.checksum->value, value);
    EXPECT_EQ(Receive(header, "other", plain).code, "BadDigest") << name;
  }
  EXPECT_EQ(Receive("x-amz-checksum-crc32: AAAA\r\n", "x", plain).code, "InvalidRequest");
  EXPECT_EQ(
      Receive("x-amz-checksum-crc32: AAAAAA==\r\nx-amz-checksum-crc32c: AAAAAA==\r\n", "x", plain)
          .code,
      "InvalidRequest");
}

TEST(Payload, VerifiesTheSignedDigest) {
  const std::string digest = HexEncode(Sha256("body"));
  EXPECT_EQ(Receive("", "body", Mode(PayloadMode::kSha256, digest)).code, "OK");
  EXPECT_EQ(Receive("", "bodz", Mode(PayloadMode::kSha256, digest)).code,
            "XAmzContentSHA256Mismatch");
}

TEST(Payload, UnwrapsAwsChunkedAndReadsTheTrailer) {
  AuthInfo auth = Mode(PayloadMode::kStreamingUnsigned);
  const std::string headers =
      "x-amz-decoded-content-length: 9\r\nx-amz-trailer: x-amz-checksum-crc32\r\n";
  auto with = [](std::string_view trailer) {
    return fmt::format("4\r\n1234\r\n5\r\n56789\r\n0\r\n{}\r\n", trailer);
  };
  Outcome good = Receive(headers, with("x-amz-checksum-crc32:y/Q5Jg==\r\n"), auth);
  EXPECT_EQ(good.code, "OK");
  EXPECT_EQ(good.body, "123456789");
  EXPECT_EQ(good.checksum->algorithm, ChecksumAlgorithm::kCrc32);
  EXPECT_EQ(Receive(headers, with("x-amz-checksum-crc32:AAAAAA==\r\n"), auth).code, "BadDigest");
  EXPECT_EQ(Receive(headers, with(""), auth).code, "MalformedTrailerError");
  EXPECT_EQ(Receive(headers, "4\r\n1234\r\n", auth).code, "IncompleteBody");
  EXPECT_EQ(Receive(headers, "4\r\n1234\r\n0\r\nx-amz-checksum-crc32:m+Pgow==\r\n\r\n", auth).code,
            "IncompleteBody")
      << "fewer bytes than x-amz-decoded-content-length says";
  EXPECT_EQ(Receive(headers, with("x-amz-checksum-crc32:y/Q5Jg==\r\n") + "more", auth).code,
            "InvalidRequest");
  EXPECT_EQ(Receive("", "0\r\n\r\n", auth).code, "MissingContentLength");
}

TEST(Payload, ChecksTheSignatureOfEachChunk) {
  AuthInfo auth = Mode(PayloadMode::kStreamingSigned);
  auth.signing_key =
      DeriveSigningKey("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524", "us-east-1", "s3");
  auth.amz_date = "20130524T000000Z";
  auth.scope = "20130524/us-east-1/s3/aws4_request";
  auth.seed_signature = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
  // The body of Amazon's published example.
  std::string body = fmt::format(
      "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n{}"
      "\r\n"
      "400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n{}"
      "\r\n"
      "0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n",
      std::string(65536, 'a'), std::string(1024, 'a'));
  const std::string headers = "x-amz-decoded-content-length: 66560\r\n";
  EXPECT_EQ(Receive(headers, body, auth).code, "OK");
  std::string changed = body;
  changed[1000] = 'b';
  EXPECT_EQ(Receive(headers, changed, auth).code, "SignatureDoesNotMatch");
  std::string unsigned_chunk = "1\r\na\r\n0\r\n\r\n";
  EXPECT_EQ(Receive("x-amz-decoded-content-length: 1\r\n", unsigned_chunk, auth).code,
            "InvalidRequest");
}

TEST(Payload, MemoryIsBounded) {
  std::string large((2 << 20) + 1, 'x');
  RequestHead head;
  ASSERT_TRUE(head.Parse("POST /b?delete HTTP/1.1\r\n\r\n").ok());
  auto payload = Payload::Create(head, Mode(PayloadMode::kUnsigned), {});
  ASSERT_TRUE(payload.ok());
  (*payload)->Write(large);
  (*payload)->Write(large);
  EXPECT_EQ((*payload)->Finish().info().s3_code, "EntityTooLarge");
  EXPECT_LE((*payload)->memory().size(), large.size());
}

}  // namespace
}  // namespace headrace::devserver
