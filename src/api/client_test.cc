#include "headrace/client.h"

#include <gtest/gtest.h>
#include <string_view>

namespace headrace {
namespace {

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(ClientGetMany, RefusesToVerifyRatherThanNotDoingIt) {
  const std::shared_ptr<Client> client = *Client::Open({.region = "us-east-1", .anonymous = true});
  ASSERT_TRUE(client->CreateBucket("memory://box").ok());
  ASSERT_TRUE(client->Put("memory://box/a", Bytes("text")).ok());
  const std::unique_ptr<GetBatch> batch =
      client->GetMany({{.uri = "memory://box/a", .options = {.verify = true}},
                       {.uri = "memory://box/a", .options = {}}});
  EXPECT_EQ(batch->Next()->result.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(batch->Next()->result->data.view(), "text");
  EXPECT_FALSE(batch->Next().has_value());
}

TEST(ClientGetMany, RefusesANegativeLimit) {
  const std::shared_ptr<Client> client = *Client::Open({.region = "us-east-1", .anonymous = true});
  const std::unique_ptr<GetBatch> batch =
      client->GetMany({{.uri = "memory://box/a", .options = {}}}, {.max_in_flight = -1});
  const Status status = batch->Next()->result.status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "max_in_flight is negative: 0 lets headrace choose");
}

TEST(Client, RefusesATimeoutWithoutEnd) {
  using std::chrono::milliseconds;
  for (const milliseconds timeout : {milliseconds::max(), milliseconds::min(), milliseconds(0)}) {
    const Status status =
        Client::Open({.region = "us-east-1", .anonymous = true, .connect_timeout = timeout})
            .status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("above zero and at most a week"), std::string::npos);
  }
}

}  // namespace
}  // namespace headrace
