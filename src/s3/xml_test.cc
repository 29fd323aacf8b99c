#include "s3/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3/etag.h"
#include "s3/xml_reader.h"

namespace headrace::s3 {
namespace {

using testing::HasSubstr;

TEST(ErrorDocument, FillsWhatTheServerSaid) {
  ServerAnswer answer{.http_status = 301, .request_id = "from header"};
  ASSERT_TRUE(ParseErrorDocument(
      "<?xml version=\"1.0\"?><Error><Code>PermanentRedirect</Code><Message>Use &lt;x&gt;</Message>"
      "<Endpoint>b.s3.us-west-2.amazonaws.com</Endpoint><RequestId>R</RequestId></Error>",
      &answer));
  EXPECT_EQ(answer.code, "PermanentRedirect");
  EXPECT_EQ(answer.message, "Use <x>");
  EXPECT_EQ(answer.endpoint, "b.s3.us-west-2.amazonaws.com");
  EXPECT_EQ(answer.request_id, "R");
}

TEST(ErrorDocument, IsFoundAfterKeepAliveBlanksAndInStsAnswers) {
  ServerAnswer answer{.http_status = 200, .region = "kept"};
  ASSERT_TRUE(ParseErrorDocument(
      "  \n\n <?xml version=\"1.0\"?><Error><Code>InternalError</Code></Error>", &answer));
  EXPECT_EQ(answer.code, "InternalError");
  EXPECT_EQ(answer.region, "kept");
  ASSERT_TRUE(
      ParseErrorDocument("<ErrorResponse><Error><Code>AccessDenied</Code></Error>"
                         "<RequestId>x</RequestId></ErrorResponse>",
                         &answer));
  EXPECT_EQ(answer.code, "AccessDenied");
}

TEST(ErrorDocument, NothingElsePassesForOne) {
  for (const char* body :
       {"", "garbage", "<html><body>404</body></html>", "<Error></Error>", "<Error><Code>X",
        "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"}) {
    ServerAnswer answer{.code = "before"};
    EXPECT_FALSE(ParseErrorDocument(body, &answer)) << body;
    EXPECT_EQ(answer.code, "before");
  }
}

TEST(MultipartXml, ReadsUploadIdAndResult) {
  EXPECT_EQ(
      *ParseInitiateMultipartUpload("<InitiateMultipartUploadResult><Bucket>b</Bucket>"
                                    "<UploadId>u/1+</UploadId></InitiateMultipartUploadResult>"),
      "u/1+");
  Result<std::string> done = ParseCompleteMultipartUpload(
      "\n\n<CompleteMultipartUploadResult><ETag>\"abc-2\"</ETag><ChecksumCRC32C>4waSgw==-2"
      "</ChecksumCRC32C><ChecksumType>COMPOSITE</ChecksumType></CompleteMultipartUploadResult>");
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(*done, "abc-2");
}

TEST(MultipartXml, ReadsCopies) {
  for (const char* body : {"<CopyObjectResult><ETag>&quot;e&quot;</ETag></CopyObjectResult>",
                           "<CopyPartResult><ETag>e</ETag></CopyPartResult>"}) {
    EXPECT_EQ(*ParseCopyResult(body), "e");
  }
}

TEST(MultipartXml, WrongAnswersAreProtocolErrors) {
  EXPECT_EQ(ParseInitiateMultipartUpload("<InitiateMultipartUploadResult/>").status().message(),
            "the answer to CreateMultipartUpload has no UploadId");
  EXPECT_EQ(ParseCompleteMultipartUpload("<Error/>").status().code(), StatusCode::kProtocol);
  EXPECT_EQ(ParseCopyResult("").status().message(), "the answer to CopyObject is empty");
  EXPECT_EQ(ParseCopyResult("<X/>").status().code(), StatusCode::kProtocol);
  EXPECT_EQ(ParseDeleteResult("<X/>").status().code(), StatusCode::kProtocol);
}

TEST(MultipartXml, CompleteCarriesQuotedEtagsAndChecksums) {
  const CompletedPart parts[] = {
      {1, "a", Checksum(ChecksumAlgorithm::kCrc64Nvme, 0xAE8B14860A799888)}, {2, "\"b\""}};
  EXPECT_THAT(
      BuildCompleteMultipartUpload(parts),
      HasSubstr(
          "<Part><ChecksumCRC64NVME>rosUhgp5mIg=</ChecksumCRC64NVME><ETag>&quot;a&quot;</ETag>"
          "<PartNumber>1</PartNumber></Part><Part><ETag>&quot;b&quot;</ETag>"
          "<PartNumber>2</PartNumber></Part>"));
}

TEST(DeleteXml, KeysComeBackByteForByte) {
  const std::string_view keys[] = {"a+b", "x&y<z>\"'", "a b",  "//",
                                   "]]>", "\xC3\xBC",  "a  b", "%41"};
  XmlAnswer answer;
  ASSERT_TRUE(ParseXmlRoot(BuildDelete(keys), "Delete", "the request", &answer).ok());
  std::size_t i = 0;
  for (const pugi::xml_node object : answer.root.children("Object")) {
    ASSERT_TRUE(XmlCanCarry(keys[i]));
    EXPECT_EQ(ChildText(object, "Key"), keys[i++]);
  }
  EXPECT_EQ(i, std::size(keys));
  EXPECT_EQ(ChildText(answer.root, "Quiet"), "true");
}

TEST(DeleteXml, KeysThatXmlCannotCarryAreKnown) {
  for (const std::string_view key :
       {std::string_view("x\x01y"), std::string_view("x\ry"), std::string_view("x\ny"),
        std::string_view("x\ty"), std::string_view("a\0b", 3), std::string_view(" a"),
        std::string_view("a "), std::string_view("\xFF"), std::string_view("\xC3"),
        std::string_view("\xC0\x80"), std::string_view("\xED\xA0\x80"),
        std::string_view("\xEF\xBF\xBE"), std::string_view("\xC2\x85"), std::string_view("\x7F"),
        std::string_view("\xF5\x80\x80\x80"), std::string_view()}) {
    EXPECT_FALSE(XmlCanCarry(key)) << key;
  }
  EXPECT_TRUE(XmlCanCarry("\xF0\x9F\x90\x88"));
  EXPECT_TRUE(XmlCanCarry("u\xCC\x88"));
}

TEST(DeleteXml, FailuresAreReadByKey) {
  Result<std::vector<DeleteFailure>> failures = ParseDeleteResult(
      "<DeleteResult><Deleted><Key>a</Key></Deleted><Error><Key>b&amp;</Key><Code>AccessDenied</"
      "Code>"
      "<Message>no</Message></Error></DeleteResult>");
  ASSERT_TRUE(failures.ok());
  ASSERT_EQ(failures->size(), 1u);
  EXPECT_EQ(failures->front().key, "b&");
  EXPECT_EQ(failures->front().code, "AccessDenied");
  EXPECT_TRUE(ParseDeleteResult("<DeleteResult/>")->empty());
}

TEST(BucketXml, TheFirstRegionHasNoConstraint) {
  EXPECT_EQ(BuildCreateBucket("us-east-1"), "");
  EXPECT_THAT(BuildCreateBucket("eu-west-1"),
              HasSubstr("<LocationConstraint>eu-west-1</LocationConstraint>"));
}

TEST(Etag, FormsCompareEqualBareAndTravelQuoted) {
  EXPECT_EQ(BareEtag("\"abc-3\""), "abc-3");
  EXPECT_EQ(BareEtag("abc-3"), "abc-3");
  EXPECT_EQ(BareEtag("W/\"abc\""), "abc");
  EXPECT_EQ(BareEtag("\""), "\"");
  EXPECT_EQ(QuotedEtag("abc-3"), "\"abc-3\"");
  EXPECT_EQ(QuotedEtag("\"abc-3\""), "\"abc-3\"");
}

}  // namespace
}  // namespace headrace::s3
