// The S3 store against real servers: those that tests/with_servers names in the environment.
#include <atomic>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"
#include "s3/engine.h"
#include "store/s3_store.h"
#include "testing/store_conformance.h"

namespace headrace::store {
namespace {

std::string Env(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? value : "";
}

// A store with the engine that it needs.
struct Owned {
  RealClock clock;
  BufferPool buffers{std::size_t{64} << 20};
  std::unique_ptr<s3::Engine> engine;
  std::unique_ptr<S3Store> store;
};

BackendUnderTest::Fixture MakeS3(const std::string& server) {
  auto owned = std::make_shared<Owned>();
  const std::string prefix = "HEADRACE_TEST_" + server + "_";
  Result<s3::Endpoint> endpoint = s3::Endpoint::FromUrl(Env(prefix + "ENDPOINT"), "us-east-1");
  EXPECT_TRUE(endpoint.ok()) << endpoint.status().ToString();
  s3::EngineOptions options;
  options.endpoint = *endpoint;
  options.credentials = std::make_unique<s3::StaticCredentials>(
      s3::Credentials{Env(prefix + "ACCESS_KEY"), Env(prefix + "SECRET_KEY"), "", std::nullopt});
  options.policy.hedge = true;
  options.wire.user_agent = "headrace-test";
  owned->engine = std::make_unique<s3::Engine>(std::move(options), &owned->buffers, &owned->clock);
  owned->store = std::make_unique<S3Store>(owned->engine.get());
  static std::atomic<int> count{0};
  const std::string bucket = fmt::format("conformance-{}-{}", getpid(), count.fetch_add(1));
  const Status made = owned->store->CreateBucket(bucket).Wait().status();
  EXPECT_TRUE(made.ok()) << made.ToString();
  return {std::shared_ptr<Store>(owned, owned->store.get()), bucket};
}

// What SeaweedFS's own rules for paths refuse or change.
bool SeaweedHolds(std::string_view key) {
  if (key.starts_with('/') || key.ends_with('/') || key.find("//") != std::string_view::npos) {
    return false;
  }
  return key != "." && key != ".." && key.find("/./") == std::string_view::npos &&
         key.find("/../") == std::string_view::npos && key.size() <= 255 &&
         key.find_first_of("\x01\r\n\\") == std::string_view::npos;
}

// Its HTTP routing does not see a line feed in a path.
bool MotoHolds(std::string_view key) { return key.find('\n') == std::string_view::npos; }

std::vector<BackendUnderTest> Servers() {
  std::vector<BackendUnderTest> servers;
  if (!Env("HEADRACE_TEST_EMBEDDED_ENDPOINT").empty()) {
    servers.push_back({.name = "embedded", .make = [] { return MakeS3("EMBEDDED"); }});
  }
  if (!Env("HEADRACE_TEST_SEAWEEDFS_ENDPOINT").empty()) {
    servers.push_back({.name = "seaweedfs",
                       .make = [] { return MakeS3("SEAWEEDFS"); },
                       .holds = SeaweedHolds,
                       .makes_buckets = true,
                       .lists_in_other_order = true});
  }
  if (!Env("HEADRACE_TEST_MOTO_ENDPOINT").empty()) {
    servers.push_back({.name = "moto",
                       .make = [] { return MakeS3("MOTO"); },
                       .holds = MotoHolds,
                       .ignores_create_only_copies = true,
                       .ignores_version_of_copies = true});
  }
  return servers;
}

INSTANTIATE_TEST_SUITE_P(S3, StoreConformance, testing::ValuesIn(Servers()),
                         [](const auto& info) { return info.param.name; });

TEST(S3Conformance, RunsAgainstAllServers) {
  for (const std::string server : {"EMBEDDED", "SEAWEEDFS", "MOTO"}) {
    const std::string variable = "HEADRACE_TEST_" + server + "_ENDPOINT";
    EXPECT_FALSE(Env(variable).empty())
        << server << " is missing: " << variable << " is not set. scripts/setup and then "
        << "scripts/test install the servers; tests/with_servers COMMAND starts all of them";
  }
}

}  // namespace
}  // namespace headrace::store
