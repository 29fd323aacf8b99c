#include "s3/web_identity_credentials.h"

#include <fmt/format.h>

#include "base/macros.h"

namespace headrace::s3 {

Result<Credentials> ExchangeTokenFile(const ProviderContext& context, const std::string& sts_url,
                                      const std::string& token_file, const RoleRequest& role,
                                      std::stop_token stop, Deadline deadline) {
  Result<std::string> token = context.environment.read_file(token_file);
  if (!token.ok()) {
    return Status(StatusCode::kCredentials,
                  fmt::format("the web identity token: {}", token.status().message()));
  }
  while (token->ends_with('\n') || token->ends_with('\r')) token->pop_back();
  if (token->empty()) {
    return Status(StatusCode::kCredentials,
                  fmt::format("the web identity token file {} is empty", token_file));
  }
  return AssumeRoleWithWebIdentity(context, sts_url, *token, role, stop, deadline);
}

Result<Credentials> WebIdentityCredentials::Fetch(std::stop_token stop, Deadline deadline) {
  const Environment& environment = context_.environment;
  const auto token_file = environment.getenv("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (!token_file) return Status(StatusCode::kNotFound, "AWS_WEB_IDENTITY_TOKEN_FILE is not set");
  const auto role_arn = environment.getenv("AWS_ROLE_ARN");
  if (!role_arn) {
    return Status(StatusCode::kCredentials,
                  "AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN is not");
  }
  ASSIGN_OR_RETURN(const AwsConfig config, AwsConfig::Load(environment));
  const std::string sts_url = StsUrl(environment, config, ProfileName("", environment), region_);
  const RoleRequest role{.role_arn = *role_arn,
                         .session_name = environment.Get("AWS_ROLE_SESSION_NAME")};
  return ExchangeTokenFile(context_, sts_url, *token_file, role, stop, deadline);
}

}  // namespace headrace::s3
