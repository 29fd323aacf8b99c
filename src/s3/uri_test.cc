#include "s3/uri.h"

#include <gtest/gtest.h>

namespace headrace::s3 {
namespace {

using namespace std::string_literals;

std::string DecodeListed(std::string_view text) {
  std::string out(text);
  out.resize(DecodeListedInPlace(out.data(), out.size()));
  return out;
}

TEST(Uri, IsBucketPlusLiteralKey) {
  EXPECT_EQ(*ParseUri("s3://b/k"), (ObjectUri{"b", "k"}));
  EXPECT_EQ(*ParseUri("s3://b/m.pt?versionId=1"), (ObjectUri{"b", "m.pt?versionId=1"}));
  EXPECT_EQ(*ParseUri("s3://b/100%25.txt#x"), (ObjectUri{"b", "100%25.txt#x"}));
  EXPECT_EQ(*ParseUri("s3://b//a"), (ObjectUri{"b", "/a"}));
  EXPECT_EQ(*ParseUri("s3://b/d/"), (ObjectUri{"b", "d/"}));
  EXPECT_EQ(*ParseUri("s3://b/.."), (ObjectUri{"b", ".."}));
}

TEST(Uri, WithoutKeyNamesTheBucket) {
  EXPECT_EQ(*ParseUri("s3://b"), (ObjectUri{"b", ""}));
  EXPECT_EQ(*ParseUri("s3://b/"), (ObjectUri{"b", ""}));
}

TEST(Uri, FormatGivesBackWhatWasParsed) {
  for (const std::string& key : {"k"s, "/a"s, "a//b"s, "a b+c%41?x=1#\xC3\xBC"s, "x\x01y"s}) {
    EXPECT_EQ(*ParseUri(FormatUri("bucket", key)), (ObjectUri{"bucket", key})) << key;
  }
  EXPECT_EQ(FormatUri("bucket", ""), "s3://bucket");
}

TEST(Uri, SaysWhatIsWrongAndHowToWriteIt) {
  auto message = [](std::string_view uri) {
    Result<ObjectUri> parsed = ParseUri(uri);
    EXPECT_FALSE(parsed.ok()) << uri;
    return parsed.status().message();
  };
  EXPECT_EQ(message("bucket/key"), "'bucket/key' is not an S3 address; write s3://bucket/key");
  EXPECT_EQ(message("s3:/b/k"), "'s3:/b/k' is not an S3 address; write s3://bucket/key");
  EXPECT_EQ(message("s3://"), "'s3://': the bucket name is empty; write s3://bucket/key");
  EXPECT_EQ(message("s3:///k"), "'s3:///k': the bucket name is empty; write s3://bucket/key");
  EXPECT_EQ(message("s3://a b/k"),
            "'s3://a b/k': bucket name 'a b' holds ' '; only letters, digits, '.', '-' and '_' can "
            "stand in one");
  EXPECT_NE(message("s3://a\x01/k").find("byte 0x01"), std::string::npos);
  EXPECT_NE(message("s3://../k").find("cannot be the name"), std::string::npos);
  EXPECT_NE(message("s3://" + std::string(256, 'a')).find("256 letters"), std::string::npos);
  EXPECT_EQ(ParseUri("s3://arn:aws:s3:eu-west-1:1:accesspoint:x/k").status().code(),
            StatusCode::kUnsupported);
}

TEST(Uri, BucketNamesOfOldAreValid) {
  EXPECT_TRUE(ValidateBucketName("My_Old.Bucket-1").ok());
  EXPECT_TRUE(ValidateBucketName(std::string(255, 'a')).ok());
}

TEST(PercentEncoding, KeepsUnreservedBytesOnly) {
  const std::string kept = "ABCXYZabcxyz0189-._~";
  EXPECT_EQ(EncodePath(kept), kept);
  EXPECT_EQ(EncodeQuery(kept), kept);
  EXPECT_EQ(EncodePath("a b+c%&?#\"'//\x01"), "a%20b%2Bc%25%26%3F%23%22%27//%01");
  EXPECT_EQ(EncodeQuery("a/b=c*"), "a%2Fb%3Dc%2A");
  EXPECT_EQ(EncodePath("\xC3\xBC"), "%C3%BC");
  EXPECT_EQ(EncodePath("../."), "../.");
  EXPECT_EQ(EncodePath("a\0b"s), "a%00b");
}

TEST(PercentEncoding, ListedNamesDecodeFromBothDialects) {
  EXPECT_EQ(DecodeListed("a+b"), "a b");
  EXPECT_EQ(DecodeListed("a%20b"), "a b");
  EXPECT_EQ(DecodeListed("a%2Bb"), "a+b");
  EXPECT_EQ(DecodeListed("a%252Bb"), "a%2Bb");
  EXPECT_EQ(DecodeListed("x%01y%0Dz%c3%BC"), "x\x01y\rz\xC3\xBC");
}

TEST(PercentEncoding, BrokenEscapesStandForThemselves) {
  EXPECT_EQ(DecodeListed("100%"), "100%");
  EXPECT_EQ(DecodeListed("%4"), "%4");
  EXPECT_EQ(DecodeListed("%zz%41"), "%zzA");
}

TEST(PercentEncoding, EveryByteComesBack) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(DecodeListed(EncodeQuery(all)), all);
  EXPECT_EQ(DecodeListed(EncodePath(all)), all);
}

}  // namespace
}  // namespace headrace::s3
