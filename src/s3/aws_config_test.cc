#include "s3/aws_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3/fake_environment.h"

namespace headrace::s3 {
namespace {

using testing::HasSubstr;

TEST(AwsConfig, MergesBothFilesAndTheCredentialsFileWins) {
  FakeEnvironment fake;
  fake.files["/home/me/.aws/config"] =
      "# comment\n[default]\nRegion = eu-west-1\n\n[profile dev]\nregion=us-west-2\r\n"
      "aws_access_key_id = from-config\n; comment\n[profile 'with blank']\nregion = x\n"
      "[sso-session s]\nregion = never\n";
  fake.files["/home/me/.aws/credentials"] = "[dev]\naws_access_key_id = AKID\n[other]\na=b=c\n";
  Result<AwsConfig> config = AwsConfig::Load(fake.environment());
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->Get("default", "region"), "eu-west-1");
  EXPECT_EQ(config->Get("dev", "region"), "us-west-2");
  EXPECT_EQ(config->Get("dev", "aws_access_key_id"), "AKID");
  EXPECT_EQ(config->Get("with blank", "region"), "x");
  EXPECT_EQ(config->Get("other", "a"), "b=c");
  EXPECT_EQ(config->profile("s"), nullptr);
  EXPECT_EQ(config->Get("nobody", "region"), std::nullopt);
}

TEST(AwsConfig, ReadsNestedSettingsAndServices) {
  FakeEnvironment fake;
  fake.variables["AWS_CONFIG_FILE"] = "~/c";
  fake.files["/home/me/c"] =
      "[profile dev]\nservices = local\ns3 =\n  addressing_style = path\n  # inside\n"
      "  max_concurrent_requests = 20\nregion = r\n"
      "[services local]\ns3 =\n  endpoint_url = http://localhost:9000\nsts =\n  endpoint_url = x\n";
  Result<AwsConfig> config = AwsConfig::Load(fake.environment());
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->Get("dev", "s3.addressing_style"), "path");
  EXPECT_EQ(config->Get("dev", "region"), "r");
  EXPECT_EQ(config->GetService("dev", "s3.endpoint_url"), "http://localhost:9000");
  EXPECT_EQ(config->GetService("dev", "sts.endpoint_url"), "x");
}

TEST(AwsConfig, MissingFilesAreEmptyAndMalformedOnesNameTheLine) {
  FakeEnvironment fake;
  EXPECT_TRUE(AwsConfig::Load(fake.environment()).ok());
  fake.files["/home/me/.aws/credentials"] = "[default]\nfoo\n";
  EXPECT_EQ(AwsConfig::Load(fake.environment()).status().message(),
            "/home/me/.aws/credentials line 2: expected 'name = value'");
  fake.files["/home/me/.aws/credentials"] = "a = b\n";
  EXPECT_THAT(AwsConfig::Load(fake.environment()).status().message(), HasSubstr("line 1"));
  fake.files["/home/me/.aws/credentials"] = "\n[default\n";
  EXPECT_THAT(AwsConfig::Load(fake.environment()).status().message(), HasSubstr("line 2"));
}

TEST(AwsConfig, NoSuchProfileListsThoseThereAre) {
  FakeEnvironment fake;
  fake.files["/home/me/.aws/credentials"] = "[a]\n[b]\n";
  Result<AwsConfig> config = AwsConfig::Load(fake.environment());
  EXPECT_EQ(
      config->NoSuchProfile("x").message(),
      "no profile 'x' in /home/me/.aws/config and /home/me/.aws/credentials; there are: a, b");
}

TEST(ProfileName, IsChosenThenEnvironmentThenDefault) {
  FakeEnvironment fake;
  EXPECT_EQ(ProfileName("", fake.environment()), "default");
  fake.variables["AWS_DEFAULT_PROFILE"] = "old";
  EXPECT_EQ(ProfileName("", fake.environment()), "old");
  fake.variables["AWS_PROFILE"] = "p";
  EXPECT_EQ(ProfileName("", fake.environment()), "p");
  EXPECT_EQ(ProfileName("chosen", fake.environment()), "chosen");
}

}  // namespace
}  // namespace headrace::s3
