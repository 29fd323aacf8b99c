#include "s3/sts.h"

#include <chrono>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "base/macros.h"
#include "s3/endpoint.h"
#include "s3/sign.h"
#include "s3/time_text.h"
#include "s3/uri.h"
#include "s3/xml.h"
#include "s3/xml_reader.h"

namespace headrace::s3 {
namespace {

constexpr std::string_view kFormType = "application/x-www-form-urlencoded; charset=utf-8";

std::string FormBody(std::string_view action, const RoleRequest& role, WallTime now,
                     std::string_view web_identity_token) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  const std::string session =
      role.session_name.empty() ? fmt::format("headrace-{}", seconds) : role.session_name;
  std::vector<QueryParam> params = {{"Action", action},
                                    {"Version", "2011-06-15"},
                                    {"RoleArn", role.role_arn},
                                    {"RoleSessionName", session}};
  if (!role.external_id.empty()) params.push_back({"ExternalId", role.external_id});
  if (!role.duration_seconds.empty()) params.push_back({"DurationSeconds", role.duration_seconds});
  if (!web_identity_token.empty()) params.push_back({"WebIdentityToken", web_identity_token});
  return CanonicalQuery(params);
}

Result<Credentials> ReadAnswer(const FetchResponse& response, const RoleRequest& role) {
  auto failed = [&role](std::string_view why) {
    return Status(StatusCode::kCredentials,
                  fmt::format("STS gave no credentials for role {}: {}", role.role_arn, why));
  };
  if (response.status != 200) {
    ServerAnswer error{.http_status = response.status};
    if (!ParseErrorDocument(response.body, &error)) {
      return failed(fmt::format("HTTP {}", response.status));
    }
    return failed(fmt::format("{}: {}", error.code, error.message));
  }
  XmlAnswer xml;
  if (Status status = ParseXml(response.body, "its answer", &xml); !status.ok()) {
    return failed("its answer is not XML");  // no excerpt: it may hold the secret
  }
  // <AssumeRoleResponse><AssumeRoleResult><Credentials>, or the same with WithWebIdentity.
  const pugi::xml_node node = xml.root.first_child().child("Credentials");
  Credentials credentials{.access_key_id = ChildText(node, "AccessKeyId"),
                          .secret_access_key = ChildText(node, "SecretAccessKey"),
                          .session_token = ChildText(node, "SessionToken")};
  credentials.expiration = ParseIso8601(ChildText(node, "Expiration"));
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) {
    return failed("its answer holds no keys");
  }
  return credentials;
}

Result<Credentials> Exchange(const ProviderContext& context, const FetchRequest& request,
                             const RoleRequest& role, std::stop_token stop, Deadline deadline) {
  Result<FetchResponse> response = FetchPatiently(context.fetch, request, {}, stop, deadline);
  if (response.ok()) return ReadAnswer(*response, role);
  if (response.status().code() == StatusCode::kCancelled) return response.status();
  return Status(StatusCode::kCredentials,
                fmt::format("STS at {} did not answer for role {}: {}", request.url, role.role_arn,
                            response.status().message()));
}

}  // namespace

std::string StsUrl(const Environment& environment, const AwsConfig& config,
                   const std::string& profile, const std::string& region) {
  if (!environment.Flag("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) {
    for (const char* variable : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}) {
      if (const auto url = environment.getenv(variable)) return *url;
    }
    if (const auto url = config.GetService(profile, "sts.endpoint_url")) return *url;
    if (const auto url = config.Get(profile, "endpoint_url")) return *url;
  }
  // "s3.REGION.suffix" in the region's own partition, with the other service's name.
  return "https://sts." + Endpoint::ForAwsRegion(region).host.substr(3);
}

Result<Credentials> AssumeRole(const ProviderContext& context, const std::string& sts_url,
                               const std::string& region, const Credentials& source,
                               const RoleRequest& role, std::stop_token stop, Deadline deadline) {
  ASSIGN_OR_RETURN(const Endpoint endpoint, Endpoint::FromUrl(sts_url, region));
  const WallTime now = context.clock->WallNow();
  const Target target = endpoint.For({}, {});
  FetchRequest request{
      .method = "POST",
      .url = fmt::format("{}://{}{}", endpoint.scheme, target.host_header, target.path),
      .body = FormBody("AssumeRole", role, now, {})};
  const std::string payload_hash = Sha256Hex(request.body);
  const HeaderView headers[] = {{"content-type", kFormType}};
  Signer signer;
  ASSIGN_OR_RETURN(const SignedHeaders made, signer.Sign({.method = request.method,
                                                          .host = target.host_header,
                                                          .path = target.path,
                                                          .headers = headers,
                                                          .payload_hash = payload_hash},
                                                         source, {region, "sts"}, now));
  request.headers = {{"content-type", std::string(kFormType)},
                     {"x-amz-date", std::string(made.x_amz_date)},
                     {"x-amz-content-sha256", payload_hash},
                     {"authorization", std::string(made.authorization)}};
  if (!made.x_amz_security_token.empty()) {
    request.headers.emplace_back("x-amz-security-token", made.x_amz_security_token);
  }
  return Exchange(context, request, role, stop, deadline);
}

Result<Credentials> AssumeRoleWithWebIdentity(const ProviderContext& context,
                                              const std::string& sts_url, const std::string& token,
                                              const RoleRequest& role, std::stop_token stop,
                                              Deadline deadline) {
  ASSIGN_OR_RETURN(const Endpoint endpoint, Endpoint::FromUrl(sts_url, "none"));
  const Target target = endpoint.For({}, {});
  const FetchRequest request{
      .method = "POST",
      .url = fmt::format("{}://{}{}", endpoint.scheme, target.host_header, target.path),
      .headers = {{"content-type", std::string(kFormType)}},
      .body = FormBody("AssumeRoleWithWebIdentity", role, context.clock->WallNow(), token)};
  return Exchange(context, request, role, stop, deadline);
}

}  // namespace headrace::s3
