// The providers, one by one and as the default chain, against scripted surroundings.
#include "s3/credentials.h"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3/container_credentials.h"
#include "s3/default_credentials.h"
#include "s3/fake_environment.h"

namespace headrace::s3 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kJson =
    R"({"Code":"Success","AccessKeyId":"AKID","SecretAccessKey":"topsecret","Token":"T",)"
    R"("Expiration":"2026-11-29T16:56:41Z"})";
constexpr const char* kProcessJson =
    R"({"Version":1,"AccessKeyId":"PROC","SecretAccessKey":"topsecret","SessionToken":"T"})";

std::string StsAnswer(const std::string& action, const std::string& id) {
  return "<" + action + "Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><" + action +
         "Result><AssumedRoleUser/><Credentials><AccessKeyId>" + id +
         "</AccessKeyId><SecretAccessKey>topsecret</SecretAccessKey><SessionToken>ST</SessionToken>"
         "<Expiration>2026-11-29T17:56:41Z</Expiration></Credentials></" +
         action + "Result></" + action + "Response>";
}

class Providers : public testing::Test {
 protected:
  ProviderContext context() { return {fake_.environment(), http_.fetch(), &clock_}; }
  Result<Credentials> Fetch(const std::string& profile = "") {
    Result<Credentials> credentials =
        DefaultCredentials(context(), profile, "eu-west-1")->Fetch({}, {});
    EXPECT_THAT(credentials.status().ToString(), Not(HasSubstr("topsecret")));
    return credentials;
  }
  std::string Id(const std::string& profile = "") {
    Result<Credentials> credentials = Fetch(profile);
    return credentials.ok() ? credentials->access_key_id : credentials.status().ToString();
  }

  FakeEnvironment fake_;
  FakeHttp http_;
  FakeClock clock_;
};

TEST_F(Providers, Environment) {
  fake_.variables["AWS_ACCESS_KEY_ID"] = "ENV";
  EXPECT_THAT(Id(), HasSubstr("AWS_ACCESS_KEY_ID is set but AWS_SECRET_ACCESS_KEY is not"));
  fake_.variables["AWS_SECRET_ACCESS_KEY"] = "topsecret";
  fake_.variables["AWS_SESSION_TOKEN"] = "T";
  EXPECT_EQ(*Fetch(), (Credentials{"ENV", "topsecret", "T", std::nullopt}));
}

TEST_F(Providers, ProfileKeys) {
  fake_.files["/home/me/.aws/credentials"] =
      "[default]\naws_access_key_id=DEF\naws_secret_access_key=topsecret\n"
      "[dev]\naws_access_key_id=DEV\naws_secret_access_key=topsecret\naws_session_token=T\n"
      "[half]\naws_access_key_id=HALF\n";
  EXPECT_EQ(Id(), "DEF");
  EXPECT_EQ(*Fetch("dev"), (Credentials{"DEV", "topsecret", "T", std::nullopt}));
  EXPECT_THAT(Id("half"), HasSubstr("profile 'half' has an aws_access_key_id but no"));
  fake_.variables["AWS_PROFILE"] = "dev";
  EXPECT_EQ(Id(), "DEV");
  // The environment's keys win over AWS_PROFILE, and lose to a profile that was asked for.
  fake_.variables["AWS_ACCESS_KEY_ID"] = "ENV";
  fake_.variables["AWS_SECRET_ACCESS_KEY"] = "topsecret";
  EXPECT_EQ(Id(), "ENV");
  EXPECT_EQ(Id("default"), "DEF");
}

TEST_F(Providers, AProfileThatWasNamedMustExist) {
  fake_.files["/home/me/.aws/credentials"] = "[dev]\nregion=x\n";
  const Status status = Fetch("dve").status();
  EXPECT_EQ(status.code(), StatusCode::kCredentials);
  EXPECT_THAT(status.message(), HasSubstr("no profile 'dve'"));
  EXPECT_THAT(status.message(), HasSubstr("there are: dev"));
}

TEST_F(Providers, CredentialProcess) {
  fake_.files["/home/me/.aws/config"] =
      "[profile p]\ncredential_process = /opt/tool --for 'a b'\n"
      "[profile missing]\ncredential_process = nothing\n"
      "[profile garbage]\ncredential_process = garbage\n"
      "[profile v2]\ncredential_process = v2\n[profile open]\ncredential_process = 'x\n";
  fake_.programs["/opt/tool"] = kProcessJson;
  fake_.programs["garbage"] = "topsecret";
  fake_.programs["v2"] = R"({"Version":2,"AccessKeyId":"x","SecretAccessKey":"topsecret"})";
  EXPECT_EQ(*Fetch("p"), (Credentials{"PROC", "topsecret", "T", std::nullopt}));
  EXPECT_THAT(fake_.ran, ElementsAre(ElementsAre("/opt/tool", "--for", "a b")));
  EXPECT_THAT(Id("missing"), HasSubstr("credential_process that failed: cannot run 'nothing'"));
  EXPECT_THAT(Id("garbage"), HasSubstr("did not give a JSON object"));
  EXPECT_THAT(Id("v2"), HasSubstr("Version other than 1"));
  EXPECT_THAT(Id("open"), HasSubstr("unclosed quote"));
}

TEST_F(Providers, AssumedRolesChain) {
  fake_.files["/home/me/.aws/config"] =
      "[profile top]\nrole_arn = arn:top\nsource_profile = middle\nrole_session_name = me\n"
      "external_id = e+1\nduration_seconds = 900\nregion = us-west-2\n"
      "[profile middle]\nrole_arn = arn:middle\nsource_profile = keys\n"
      "[profile keys]\naws_access_key_id = KEYS\naws_secret_access_key = topsecret\n";
  http_.rules = {
      {"POST", "https://sts.us-west-2.amazonaws.com/", 200, StsAnswer("AssumeRole", "TOP")},
      {"POST", "https://sts.eu-west-1.amazonaws.com/", 200, StsAnswer("AssumeRole", "MIDDLE")}};
  const Credentials top = *Fetch("top");
  EXPECT_EQ(top.access_key_id, "TOP");
  EXPECT_EQ(top.session_token, "ST");
  EXPECT_EQ(top.expiration, std::chrono::sys_days(std::chrono::year(2026) / 11 / 29) +
                                std::chrono::hours(17) + std::chrono::minutes(56) +
                                std::chrono::seconds(41));
  ASSERT_EQ(http_.requests.size(), 2u);
  EXPECT_THAT(FakeHttp::Header(http_.requests[0], "authorization"), HasSubstr("Credential=KEYS/"));
  EXPECT_THAT(FakeHttp::Header(http_.requests[1], "authorization"),
              HasSubstr("/us-west-2/sts/aws4_request"));
  EXPECT_EQ(FakeHttp::Header(http_.requests[1], "x-amz-security-token"), "ST");
  EXPECT_EQ(http_.requests[1].body,
            "Action=AssumeRole&DurationSeconds=900&ExternalId=e%2B1&RoleArn=arn%3Atop&"
            "RoleSessionName=me&Version=2011-06-15");
}

TEST_F(Providers, RolesFromSourcesAndTheirMistakes) {
  fake_.files["/home/me/.aws/config"] =
      "[profile env]\nrole_arn = arn:r\ncredential_source = Environment\n"
      "[profile odd]\nrole_arn = arn:r\ncredential_source = Moon\n"
      "[profile none]\nrole_arn = arn:r\n"
      "[profile a]\nrole_arn = arn:r\nsource_profile = b\n[profile b]\nrole_arn = "
      "arn:r\nsource_profile = a\n"
      "[profile self]\nrole_arn = arn:r\nsource_profile = self\naws_access_key_id = SELF\n"
      "aws_secret_access_key = topsecret\n"
      "[profile lost]\nrole_arn = arn:r\nsource_profile = nobody\n"
      "[profile mfa]\nrole_arn = arn:r\nsource_profile = self\nmfa_serial = m\n"
      "[profile sso]\nsso_session = s\n";
  http_.rules = {
      {"POST", "https://sts.eu-west-1.amazonaws.com/", 200, StsAnswer("AssumeRole", "ROLE")}};
  EXPECT_THAT(Id("env"), HasSubstr("credential_source Environment, which gives none"));
  fake_.variables["AWS_ACCESS_KEY_ID"] = "ENV";
  fake_.variables["AWS_SECRET_ACCESS_KEY"] = "topsecret";
  EXPECT_EQ(Id("env"), "ROLE");
  EXPECT_THAT(Id("odd"), HasSubstr("credential_source 'Moon'"));
  EXPECT_THAT(Id("none"), HasSubstr("no source_profile"));
  EXPECT_THAT(Id("a"), HasSubstr("circle"));
  EXPECT_EQ(Id("self"), "ROLE");
  EXPECT_THAT(FakeHttp::Header(http_.requests.back(), "authorization"),
              HasSubstr("Credential=SELF/"));
  EXPECT_THAT(Id("lost"), HasSubstr("no profile 'nobody'"));
  EXPECT_THAT(Id("mfa"), HasSubstr("MFA"));
  EXPECT_THAT(Id("sso"), HasSubstr("aws configure export-credentials --profile sso"));
}

TEST_F(Providers, StsRefusalsAreToldWithTheRole) {
  fake_.files["/home/me/.aws/config"] =
      "[profile r]\nrole_arn = arn:r\nsource_profile = k\n[profile k]\naws_access_key_id = K\n"
      "aws_secret_access_key = topsecret\n";
  http_.rules = {
      {"POST", "https://sts.", 403,
       "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no trust</Message></Error>"
       "</ErrorResponse>"}};
  EXPECT_THAT(Id("r"), HasSubstr("STS gave no credentials for role arn:r: AccessDenied: no trust"));
  http_.rules = {{"POST", "https://sts.", 200, "topsecret"}};
  EXPECT_THAT(Id("r"), HasSubstr("not XML"));
}

TEST_F(Providers, WebIdentity) {
  fake_.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/var/token";
  EXPECT_THAT(Id(), HasSubstr("AWS_ROLE_ARN is not"));
  fake_.variables["AWS_ROLE_ARN"] = "arn:web";
  EXPECT_THAT(Id(), HasSubstr("the web identity token: cannot read /var/token"));
  fake_.files["/var/token"] = "ey.topsecret\n";
  fake_.variables["AWS_ROLE_SESSION_NAME"] = "pod";
  http_.rules = {{"POST", "https://sts.eu-west-1.amazonaws.com/", 200,
                  StsAnswer("AssumeRoleWithWebIdentity", "WEB")}};
  EXPECT_EQ(Id(), "WEB");
  EXPECT_EQ(FakeHttp::Header(http_.requests.back(), "authorization"), "");
  EXPECT_EQ(http_.requests.back().body,
            "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aweb&RoleSessionName=pod&"
            "Version=2011-06-15&WebIdentityToken=ey.topsecret");
  fake_.variables["AWS_ENDPOINT_URL_STS"] = "http://127.0.0.1:7/";
  EXPECT_THAT(Id(), HasSubstr("STS at http://127.0.0.1:7/ did not answer"));
}

TEST_F(Providers, ContainerEndpoint) {
  fake_.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/x";
  http_.rules = {{"GET", "http://169.254.170.2/v2/x", 200, kJson}};
  EXPECT_EQ(Id(), "AKID");
  EXPECT_TRUE(http_.requests.back().bypass_proxy);

  fake_.variables.erase("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  fake_.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://169.254.170.23/v1/credentials";
  fake_.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/var/t";
  EXPECT_THAT(Id(), HasSubstr("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: cannot read /var/t"));
  fake_.files["/var/t"] = "tok\n";
  http_.rules = {{"GET", "http://169.254.170.23/v1/credentials", 200, kJson}};
  EXPECT_EQ(Id(), "AKID");
  EXPECT_EQ(FakeHttp::Header(http_.requests.back(), "authorization"), "tok");
  fake_.files["/var/t"] = "a\r\nb";
  EXPECT_THAT(Id(), HasSubstr("line break"));

  fake_.files["/var/t"] = "tok";
  http_.rules = {{"GET", "http://169.254.170.23/", 404, ""}};
  EXPECT_THAT(Id(), HasSubstr("answered HTTP 404"));
  fake_.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://evil.org/x";
  http_.requests.clear();
  EXPECT_THAT(Id(), HasSubstr("only https"));
  EXPECT_TRUE(http_.requests.empty());
}

TEST(ContainerUrl, OnlyTrustedHostsAreAsked) {
  for (const char* url :
       {"https://any.org/x", "http://127.0.0.1:9/x", "http://localhost/x", "http://[::1]:1/x",
        "http://169.254.170.2/", "http://169.254.170.23/x?y", "http://[fd00:ec2::23]/x"}) {
    EXPECT_TRUE(IsAllowedContainerUrl(url)) << url;
  }
  for (const char* url :
       {"http://any.org/x", "http://127.evil.org/", "http://169.254.169.254/", "/x", "",
        "ftp://localhost/", "http://localhost.evil.org/", "http://a@localhost/"}) {
    EXPECT_FALSE(IsAllowedContainerUrl(url)) << url;
  }
}

TEST_F(Providers, InstanceMetadata) {
  http_.rules = {
      {"PUT", "http://169.254.169.254/latest/api/token", 200, "TOKEN"},
      {"GET", "http://169.254.169.254/latest/meta-data/iam/security-credentials/role", 200, kJson},
      {"GET", "http://169.254.169.254/latest/meta-data/iam/security-credentials/", 200, "role\n"}};
  const Credentials credentials = *Fetch();
  EXPECT_EQ(credentials.access_key_id, "AKID");
  EXPECT_EQ(credentials.session_token, "T");
  EXPECT_TRUE(credentials.expiration.has_value());
  for (const FetchRequest& request : http_.requests) {
    const std::string token = FakeHttp::Header(request, "x-aws-ec2-metadata-token");
    EXPECT_EQ(token, request.method == "GET" ? "TOKEN" : "");
  }
  http_.rules[1].body =
      R"({"Code":"AssumeRoleUnauthorizedAccess","Message":"EC2 cannot assume the role"})";
  EXPECT_THAT(Id(), HasSubstr("refused: AssumeRoleUnauthorizedAccess EC2 cannot assume the role"));
}

TEST_F(Providers, WithoutAnyTheErrorTellsWhatWasLookedAt) {
  const Status status = Fetch().status();
  EXPECT_EQ(status.code(), StatusCode::kCredentials);
  for (const char* part :
       {"no credentials found", "environment (AWS_ACCESS_KEY_ID is not set)", "web identity",
        "profile 'default' (no profile 'default' in", "container endpoint",
        "instance metadata (IMDS) (no answer from", "Set AWS_ACCESS_KEY_ID"}) {
    EXPECT_THAT(status.message(), HasSubstr(part));
  }
}

TEST(StaticCredentials, AreWholeOrRefused) {
  EXPECT_TRUE(StaticCredentials({"a", "b", "", {}}).Fetch({}, {}).ok());
  EXPECT_TRUE(StaticCredentials({}).Fetch({}, {})->anonymous());
  EXPECT_EQ(StaticCredentials({"a", "", "", {}}).Fetch({}, {}).status().code(),
            StatusCode::kCredentials);
  EXPECT_EQ(StaticCredentials({"", "b", "", {}}).Fetch({}, {}).status().code(),
            StatusCode::kCredentials);
}

TEST(FetchPatiently, TriesAgainWhatMayPass) {
  int calls = 0;
  HttpFetch fetch = [&calls](const FetchRequest&, std::stop_token,
                             Deadline) -> Result<FetchResponse> {
    ++calls;
    if (calls == 1) return Status(StatusCode::kUnreachable, "x");
    if (calls == 2) return FetchResponse{503, {}, ""};
    return FetchResponse{200, {}, "y"};
  };
  const FetchPatience quick{.attempts = 3, .first_pause = std::chrono::microseconds(1)};
  EXPECT_EQ(FetchPatiently(fetch, {}, quick, {}, {})->body, "y");
  calls = 1;
  EXPECT_EQ(FetchPatiently(fetch, {}, {.attempts = 1}, {}, {})->status, 503);
  std::stop_source stopped;
  stopped.request_stop();
  calls = 0;
  EXPECT_FALSE(FetchPatiently(fetch, {}, {}, stopped.get_token(), {}).ok());
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace headrace::s3
