#include "s3/profile_credentials.h"

#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

#include "base/macros.h"
#include "s3/container_credentials.h"
#include "s3/credential_json.h"
#include "s3/env_credentials.h"
#include "s3/imds_credentials.h"
#include "s3/subprocess.h"
#include "s3/web_identity_credentials.h"

namespace headrace::s3 {
namespace {

Status Failed(const std::string& profile, std::string_view why) {
  return Status(StatusCode::kCredentials, fmt::format("profile '{}' {}", profile, why));
}

}  // namespace

struct ProfileCredentials::Chain {
  AwsConfig config;
  std::set<std::string> visited;
  std::stop_token stop;
  Deadline deadline;
};

Result<Credentials> ProfileCredentials::Fetch(std::stop_token stop, Deadline deadline) {
  ASSIGN_OR_RETURN(AwsConfig config, AwsConfig::Load(context_.environment));
  if (config.profile(profile_) == nullptr) {
    const Status missing = config.NoSuchProfile(profile_);
    return required_ ? Status(StatusCode::kCredentials, missing.message()) : missing;
  }
  Chain chain{std::move(config), {}, std::move(stop), deadline};
  return Resolve(chain, profile_);
}

Result<Credentials> ProfileCredentials::Resolve(Chain& chain, const std::string& profile) {
  const AwsConfig& config = chain.config;
  if (config.profile(profile) == nullptr) {
    return Status(StatusCode::kCredentials, config.NoSuchProfile(profile).message());
  }
  const bool first_visit = chain.visited.insert(profile).second;
  // A role's source_profile may be the profile itself: then its keys are meant.
  if (!first_visit) {
    if (config.Get(profile, "aws_access_key_id")) return Keys(chain, profile);
    return Failed(profile, "is its own source_profile, through a circle of roles");
  }
  if (config.Get(profile, "role_arn")) return Role(chain, profile);
  if (config.Get(profile, "aws_access_key_id")) return Keys(chain, profile);
  if (config.Get(profile, "credential_process")) return Process(chain, profile);
  if (config.Get(profile, "sso_session") || config.Get(profile, "sso_start_url")) {
    return Failed(
        profile,
        fmt::format("uses SSO, which is not supported yet; give a profile of your own the "
                    "line: credential_process = aws configure export-credentials --profile "
                    "{} --format process",
                    profile));
  }
  return Status(StatusCode::kNotFound, "has no credentials");
}

Result<Credentials> ProfileCredentials::Keys(Chain& chain, const std::string& profile) {
  const std::optional<std::string> secret = chain.config.Get(profile, "aws_secret_access_key");
  if (!secret) return Failed(profile, "has an aws_access_key_id but no aws_secret_access_key");
  return Credentials{*chain.config.Get(profile, "aws_access_key_id"), *secret,
                     chain.config.Get(profile, "aws_session_token").value_or(""), std::nullopt};
}

Result<Credentials> ProfileCredentials::Process(Chain& chain, const std::string& profile) {
  const auto argv = SplitCommand(*chain.config.Get(profile, "credential_process"));
  if (!argv) return Failed(profile, "has a credential_process with an unclosed quote");
  Result<std::string> output = context_.environment.run(*argv, chain.stop, chain.deadline);
  if (!output.ok()) {
    if (output.status().code() == StatusCode::kCancelled) return output.status();
    return Failed(profile, fmt::format("has a credential_process that failed: {}",
                                       output.status().message()));
  }
  return ParseCredentialJson(*output, "SessionToken",
                             fmt::format("the credential_process of profile '{}'", profile));
}

Result<Credentials> ProfileCredentials::RoleSource(Chain& chain, const std::string& profile) {
  if (const auto source = chain.config.Get(profile, "source_profile")) {
    Result<Credentials> credentials = Resolve(chain, *source);
    if (credentials.status().code() == StatusCode::kNotFound) {
      return Failed(*source,
                    fmt::format("is the source_profile of '{}' and has no credentials", profile));
    }
    return credentials;
  }
  const std::string source = chain.config.Get(profile, "credential_source").value_or("");
  std::unique_ptr<CredentialsProvider> provider;
  if (source == "Environment") {
    provider = std::make_unique<EnvCredentials>(context_.environment);
  } else if (source == "Ec2InstanceMetadata") {
    provider = std::make_unique<ImdsCredentials>(context_);
  } else if (source == "EcsContainer") {
    provider = std::make_unique<ContainerCredentials>(context_);
  } else {
    return Failed(profile, source.empty()
                               ? "has a role_arn but no source_profile, credential_source or "
                                 "web_identity_token_file"
                               : fmt::format("has credential_source '{}'; it can be Environment, "
                                             "Ec2InstanceMetadata or EcsContainer",
                                             source));
  }
  Result<Credentials> credentials = provider->Fetch(chain.stop, chain.deadline);
  if (credentials.status().code() == StatusCode::kNotFound) {
    return Failed(profile, fmt::format("has credential_source {}, which gives none: {}", source,
                                       credentials.status().message()));
  }
  return credentials;
}

Result<Credentials> ProfileCredentials::Role(Chain& chain, const std::string& profile) {
  const AwsConfig& config = chain.config;
  const RoleRequest role{.role_arn = *config.Get(profile, "role_arn"),
                         .session_name = config.Get(profile, "role_session_name").value_or(""),
                         .external_id = config.Get(profile, "external_id").value_or(""),
                         .duration_seconds = config.Get(profile, "duration_seconds").value_or("")};
  const std::string region = config.Get(profile, "region").value_or(region_);
  const std::string sts_url = StsUrl(context_.environment, config, profile, region);
  if (const auto token_file = config.Get(profile, "web_identity_token_file")) {
    return ExchangeTokenFile(context_, sts_url, context_.environment.ExpandHome(*token_file), role,
                             chain.stop, chain.deadline);
  }
  if (config.Get(profile, "mfa_serial")) {
    return Failed(
        profile,
        fmt::format("asks for an MFA code, which cannot be typed here; give a profile of your "
                    "own the line: credential_process = aws configure export-credentials "
                    "--profile {} --format process",
                    profile));
  }
  ASSIGN_OR_RETURN(const Credentials source, RoleSource(chain, profile));
  return AssumeRole(context_, sts_url, region, source, role, chain.stop, chain.deadline);
}

}  // namespace headrace::s3
