#include "s3/error.h"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::s3 {
namespace {

using testing::HasSubstr;

const RequestFacts kRead{.action = "read",
                         .bucket = "b",
                         .key = "it's/k",
                         .endpoint = "https://s3.eu-west-1.amazonaws.com",
                         .region = "eu-west-1"};

ServerAnswer Answer(int status, std::string code = "", std::string message = "") {
  return {.http_status = status,
          .code = std::move(code),
          .message = std::move(message),
          .request_id = "R1"};
}

struct ClassRow {
  int status;
  const char* code;
  ErrorClass expected;
};

TEST(ErrorClass, FollowsTheCodeThenTheStatus) {
  const ClassRow rows[] = {
      {200, "", ErrorClass::kNone},
      {206, "", ErrorClass::kNone},
      {204, "", ErrorClass::kNone},
      {200, "InternalError", ErrorClass::kTransient},
      {200, "SlowDown", ErrorClass::kThrottle},
      {200, "AccessDenied", ErrorClass::kFatal},
      {503, "SlowDown", ErrorClass::kThrottle},
      {503, "", ErrorClass::kThrottle},
      {503, "ServiceUnavailable", ErrorClass::kTransient},
      {429, "", ErrorClass::kThrottle},
      {500, "InternalError", ErrorClass::kTransient},
      {500, "", ErrorClass::kTransient},
      {502, "", ErrorClass::kTransient},
      {504, "", ErrorClass::kTransient},
      {400, "RequestTimeout", ErrorClass::kTransient},
      {408, "", ErrorClass::kTransient},
      {409, "ConditionalRequestConflict", ErrorClass::kTransient},
      {400, "BadDigest", ErrorClass::kTransient},
      {400, "ExpiredToken", ErrorClass::kAuthRefresh},
      {403, "ExpiredToken", ErrorClass::kAuthRefresh},
      {403, "RequestTimeTooSkewed", ErrorClass::kClockSkew},
      {301, "PermanentRedirect", ErrorClass::kRedirect},
      {307, "", ErrorClass::kRedirect},
      {400, "", ErrorClass::kFatal},
      {403, "AccessDenied", ErrorClass::kFatal},
      {403, "", ErrorClass::kFatal},
      {404, "NoSuchKey", ErrorClass::kFatal},
      {412, "PreconditionFailed", ErrorClass::kFatal},
      {416, "InvalidRange", ErrorClass::kFatal},
      {501, "NotImplemented", ErrorClass::kFatal},
      {507, "", ErrorClass::kFatal},
  };
  for (const ClassRow& row : rows) {
    EXPECT_EQ(Classify(Answer(row.status, row.code), kRead), row.expected)
        << row.status << " " << row.code;
  }
}

TEST(ErrorClass, GuessesWhatHeadLeavesOut) {
  ServerAnswer elsewhere = Answer(400);
  elsewhere.region = "us-west-2";
  EXPECT_EQ(Classify(elsewhere, kRead), ErrorClass::kRedirect);
  elsewhere.region = "eu-west-1";  // our own: then it is not the region
  EXPECT_EQ(Classify(elsewhere, kRead), ErrorClass::kFatal);

  RequestFacts session = kRead;
  session.session_credentials = true;
  EXPECT_EQ(Classify(Answer(400), session), ErrorClass::kAuthRefresh);

  ServerAnswer skewed = Answer(403);
  skewed.clock_offset = std::chrono::minutes(-20);
  EXPECT_EQ(Classify(skewed, kRead), ErrorClass::kFatal) << "signed with the right time";
  skewed.signing_offset = std::chrono::minutes(-20);
  EXPECT_EQ(Classify(skewed, kRead), ErrorClass::kClockSkew);
  skewed.signing_offset = std::chrono::seconds(30);
  EXPECT_EQ(Classify(skewed, kRead), ErrorClass::kFatal);
}

TEST(ErrorClass, AMalformedAuthorizationThatNamesTheRegionIsARedirect) {
  ServerAnswer answer = Answer(400, "AuthorizationHeaderMalformed");
  EXPECT_EQ(Classify(answer, kRead), ErrorClass::kFatal);
  answer.region = "us-west-2";
  EXPECT_EQ(Classify(answer, kRead), ErrorClass::kRedirect);
}

struct StatusRow {
  int status;
  const char* code;
  StatusCode expected;
  const char* says;
};

TEST(ErrorStatus, NamesTheObjectAndTheCure) {
  const StatusRow rows[] = {
      {404, "NoSuchKey", StatusCode::kNotFound, "no such object s3://b/it's/k"},
      {404, "", StatusCode::kNotFound, "no such object s3://b/it's/k"},
      {404, "NoSuchBucket", StatusCode::kNotFound,
       "no such bucket 'b' at https://s3.eu-west-1.amazonaws.com; check its name"},
      {404, "NoSuchUpload", StatusCode::kNotFound, "multipart upload of s3://b/it's/k is gone"},
      {403, "AccessDenied", StatusCode::kAccessDenied, "may read it"},
      {403, "", StatusCode::kAccessDenied, "access to s3://b/it's/k denied; check"},
      {403, "InvalidAccessKeyId", StatusCode::kCredentials, "does not know this access key id"},
      {403, "SignatureDoesNotMatch", StatusCode::kCredentials, "secret access key is wrong"},
      {400, "ExpiredToken", StatusCode::kCredentials, "s3://b/it's/k: the credentials expired"},
      {403, "RequestTimeTooSkewed", StatusCode::kCredentials, "set the clock"},
      {503, "SlowDown", StatusCode::kThrottled, "lower max_in_flight"},
      {403, "InvalidObjectState", StatusCode::kArchived,
       "aws s3api restore-object --bucket b --key 'it'\\''s/k' --restore-request Days=7"},
      {416, "InvalidRange", StatusCode::kInvalidArgument, "past the end of s3://b/it's/k"},
      {400, "EntityTooSmall", StatusCode::kInvalidArgument, "raise part_size"},
      {400, "EntityTooLarge", StatusCode::kInvalidArgument, "multipart_threshold"},
      {400, "InvalidPart", StatusCode::kUnsupported, "parts of one size"},
      {400, "BadDigest", StatusCode::kChecksumMismatch, "other bytes than were sent"},
      {409, "BucketAlreadyOwnedByYou", StatusCode::kAlreadyExists, "bucket 'b' exists already"},
      {501, "NotImplemented", StatusCode::kUnsupported, "cannot do this"},
      {507, "", StatusCode::kNoSpace, "full"},
      {500, "InternalError", StatusCode::kServerError, "the server failed: InternalError"},
      {502, "", StatusCode::kServerError, "the server failed: HTTP 502"},
      {400, "KeyTooLongError", StatusCode::kInvalidArgument,
       "refused the request: KeyTooLongError"},
      {100, "", StatusCode::kProtocol, "is https://s3.eu-west-1.amazonaws.com an S3 endpoint?"},
  };
  for (const StatusRow& row : rows) {
    const Status status = ToStatus(Answer(row.status, row.code), kRead);
    EXPECT_EQ(status.code(), row.expected) << row.status << " " << row.code << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr(row.says));
    EXPECT_EQ(status.info().http_status, row.status);
    EXPECT_EQ(status.info().s3_code, row.code);
    EXPECT_EQ(status.info().request_id, "R1");
    EXPECT_EQ(status.info().bucket, "b");
    EXPECT_EQ(status.info().key, "it's/k");
  }
}

TEST(ErrorStatus, AFailedConditionMeansWhatTheConditionWas) {
  RequestFacts facts = kRead;
  facts.if_match = true;
  EXPECT_EQ(ToStatus(Answer(412, "PreconditionFailed"), facts).code(), StatusCode::kObjectChanged);
  EXPECT_EQ(ToStatus(Answer(412), facts).code(), StatusCode::kObjectChanged);
  facts.if_match = false;
  facts.if_none_match = true;
  EXPECT_EQ(ToStatus(Answer(412, "PreconditionFailed"), facts).code(), StatusCode::kAlreadyExists);
}

TEST(ErrorStatus, WrongRegionsAreNamed) {
  ServerAnswer answer = Answer(301, "PermanentRedirect");
  answer.region = "us-west-2";
  EXPECT_THAT(
      ToStatus(answer, kRead).message(),
      HasSubstr("bucket 'b' is in region us-west-2, not eu-west-1; set AWS_REGION=us-west-2"));
}

TEST(ErrorStatus, ServerTextIsCutAndOnOneLine) {
  const Status status =
      ToStatus(Answer(400, "Odd", "line\r\nline\x1b[31m" + std::string(9000, 'x')), kRead);
  EXPECT_LT(status.message().size(), 500u);
  EXPECT_EQ(status.message().find_first_of("\r\n\x1b"), std::string::npos);
}

TEST(ErrorStatus, AnonymousRequestsAreToldToSign) {
  RequestFacts facts = kRead;
  facts.anonymous = true;
  EXPECT_THAT(ToStatus(Answer(403, "AccessDenied"), facts).message(),
              HasSubstr("give credentials"));
}

}  // namespace
}  // namespace headrace::s3
