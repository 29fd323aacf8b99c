#include "s3/endpoint_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3/fake_environment.h"
#include "s3/imds.h"

namespace headrace::s3 {
namespace {

using testing::HasSubstr;

class EndpointConfig : public testing::Test {
 protected:
  Result<Endpoint> Resolve(const EndpointOptions& options = {}) {
    return ResolveEndpoint(options, fake_.environment(), http_.fetch(), {}, {});
  }
  FakeEnvironment fake_;
  FakeHttp http_;
};

TEST_F(EndpointConfig, TheEndpointComesFromTheNearestSource) {
  fake_.variables["AWS_REGION"] = "eu-west-1";
  fake_.files["/home/me/.aws/config"] =
      "[default]\nendpoint_url = http://profile\nservices = s\n[services s]\ns3 =\n"
      "  endpoint_url = http://services\n";
  EXPECT_EQ(Resolve()->host, "services");
  fake_.variables["AWS_ENDPOINT_URL"] = "http://general";
  EXPECT_EQ(Resolve()->host, "general");
  fake_.variables["AWS_ENDPOINT_URL_S3"] = "http://specific//";
  EXPECT_EQ(Resolve()->host, "specific");
  EXPECT_EQ(Resolve({.endpoint_url = "http://option"})->host, "option");
  fake_.variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "True";
  EXPECT_EQ(Resolve()->host, "s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(Resolve({.endpoint_url = "http://option"})->host, "option");
}

TEST_F(EndpointConfig, TheRegionComesFromTheNearestSource) {
  EXPECT_EQ(Resolve()->region, "us-east-1");
  http_.rules = {
      {"PUT", "http://169.254.169.254/latest/api/token", 200, "T"},
      {"GET", "http://169.254.169.254/latest/meta-data/placement/region", 200, "ap-south-1"}};
  EXPECT_EQ(Resolve()->host, "s3.ap-south-1.amazonaws.com");
  EXPECT_EQ(FakeHttp::Header(http_.requests.back(), "x-aws-ec2-metadata-token"), "T");
  fake_.files["/home/me/.aws/config"] =
      "[default]\nregion = from-profile\n[profile p]\nregion = p-1\n";
  EXPECT_EQ(Resolve()->region, "from-profile");
  EXPECT_EQ(Resolve({.profile = "p"})->region, "p-1");
  fake_.variables["AWS_DEFAULT_REGION"] = "from-default";
  EXPECT_EQ(Resolve()->region, "from-default");
  fake_.variables["AWS_REGION"] = "from-env";
  EXPECT_EQ(Resolve()->region, "from-env");
  EXPECT_EQ(Resolve({.region = "option"})->region, "option");
}

TEST_F(EndpointConfig, CustomEndpointsNeverAskTheMetadataService) {
  EXPECT_EQ(Resolve({.endpoint_url = "http://localhost:9000"})->region, "us-east-1");
  EXPECT_EQ(Resolve({.endpoint_url = "https://s3.us-west-2.amazonaws.com"})->region, "us-west-2");
  EXPECT_TRUE(http_.requests.empty());
}

TEST_F(EndpointConfig, TheStyleComesFromOptionOrProfile) {
  fake_.variables["AWS_REGION"] = "eu-west-1";
  EXPECT_EQ(Resolve()->style, AddressingStyle::kAuto);
  fake_.files["/home/me/.aws/config"] = "[default]\ns3 =\n  addressing_style = path\n";
  EXPECT_EQ(Resolve()->style, AddressingStyle::kPath);
  EXPECT_EQ(Resolve({.style = AddressingStyle::kVirtual})->style, AddressingStyle::kVirtual);
}

TEST_F(EndpointConfig, MistakesAreNamed) {
  fake_.variables["AWS_REGION"] = "eu-west-1";
  EXPECT_EQ(Resolve({.profile = "nobody"}).status().code(), StatusCode::kNotFound);
  fake_.variables["AWS_ENDPOINT_URL"] = "localhost:9000";
  EXPECT_THAT(Resolve().status().message(),
              HasSubstr("AWS_ENDPOINT_URL: endpoint 'localhost:9000' does not start with"));
  fake_.variables.erase("AWS_ENDPOINT_URL");
  EXPECT_THAT(Resolve({.region = "evil.org/"}).status().message(),
              HasSubstr("not the name of a region"));
}

TEST(Imds, RenewsARefusedToken) {
  FakeEnvironment fake;
  int tokens = 0;
  HttpFetch fetch = [&](const FetchRequest& request, std::stop_token,
                        Deadline) -> Result<FetchResponse> {
    EXPECT_TRUE(request.bypass_proxy);
    if (request.method == "PUT") return FetchResponse{200, {}, std::to_string(++tokens)};
    const bool good =
        FakeHttp::Header(request, "x-aws-ec2-metadata-token") == std::to_string(tokens) &&
        tokens != 1;
    return good ? FetchResponse{200, {}, "text"} : FetchResponse{401, {}, ""};
  };
  ImdsClient first(fake.environment(), fetch);
  // A token refused at once is an error, not a loop.
  EXPECT_EQ(first.Get("/x", {}, {}).status().code(), StatusCode::kCredentials);
  EXPECT_EQ(*first.Get("/x", {}, {}), "text");  // refused, renewed
  EXPECT_EQ(*first.Get("/x", {}, {}), "text");  // kept
  EXPECT_EQ(tokens, 2);
}

TEST(Imds, WaitsForABusyServiceButNotForASilentOne) {
  FakeEnvironment fake;
  std::vector<int> statuses = {200, 503, 429, 200};
  HttpFetch fetch = [&](const FetchRequest&, std::stop_token, Deadline) -> Result<FetchResponse> {
    const int status = statuses.front();
    statuses.erase(statuses.begin());
    return FetchResponse{status, {}, "text"};
  };
  ImdsClient imds(fake.environment(), fetch);
  EXPECT_EQ(*imds.Get("/x", {}, {}), "text");
  statuses = {503, 503, 503, 200};
  EXPECT_EQ(imds.Get("/x", {}, {}).status().code(), StatusCode::kCredentials);
  FakeHttp silent;
  ImdsClient nobody(fake.environment(), silent.fetch());
  EXPECT_FALSE(nobody.Get("/x", {}, {}).ok());
  EXPECT_EQ(silent.requests.size(), 1U);
  fake.variables["AWS_METADATA_SERVICE_NUM_ATTEMPTS"] = "2";
  EXPECT_FALSE(nobody.Get("/x", {}, {}).ok());
  EXPECT_EQ(silent.requests.size(), 3U);
}

TEST(Imds, SaysWhyThereIsNothing) {
  FakeEnvironment fake;
  FakeHttp http;
  ImdsClient imds(fake.environment(), http.fetch());
  EXPECT_EQ(imds.Get("/x", {}, {}).status().message(), "no answer from http://169.254.169.254");
  fake.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://127.0.0.1:1338/";
  http.rules = {{"PUT", "http://127.0.0.1:1338/latest/api/token", 403, ""}};
  EXPECT_EQ(imds.Get("/x", {}, {}).status().code(), StatusCode::kNotFound);
  http.rules = {{"PUT", "http://127.0.0.1:1338/latest/api/token", 500, ""}};
  EXPECT_EQ(imds.Get("/x", {}, {}).status().code(), StatusCode::kCredentials);
  fake.variables["AWS_EC2_METADATA_DISABLED"] = "true";
  http.requests.clear();
  EXPECT_EQ(imds.Get("/x", {}, {}).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(http.requests.empty());
}

}  // namespace
}  // namespace headrace::s3
