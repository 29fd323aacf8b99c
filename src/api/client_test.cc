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

}  // namespace
}  // namespace headrace
