#include "headrace/status.h"

#include <gtest/gtest.h>

#include "base/macros.h"

namespace headrace {
namespace {

TEST(Status, OkIsEmpty) {
  Status ok;
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.code(), StatusCode::kOk);
  EXPECT_EQ(ok.ToString(), "OK");
  EXPECT_TRUE(ok.WithContext("reading x").ok());
}

TEST(Status, SaysWhatTheServerSaid) {
  Status error(StatusCode::kNotFound, "no such key s3://b/k",
               {.http_status = 404, .s3_code = "NoSuchKey", .request_id = "R1", .attempts = 2});
  EXPECT_EQ(error.WithContext("reading s3://b/k").ToString(),
            "NotFound: reading s3://b/k: no such key s3://b/k "
            "[HTTP 404 NoSuchKey, request id R1, 2 attempts]");
}

TEST(Status, EveryCodeHasItsName) {
  EXPECT_EQ(StatusCodeName(StatusCode::kOk), "OK");
  EXPECT_EQ(StatusCodeName(StatusCode::kArchived), "Archived");
  EXPECT_EQ(StatusCodeName(StatusCode::kInternal), "Internal");
}

Result<int> Half(int n) {
  if (n % 2 != 0) return Status(StatusCode::kInvalidArgument, "odd");
  return n / 2;
}

Result<int> Quarter(int n) {
  ASSIGN_OR_RETURN(int half, Half(n));
  return Half(half);
}

TEST(Result, MacrosPassValuesAndErrorsOn) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
}

}  // namespace
}  // namespace headrace
