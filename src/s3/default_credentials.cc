#include "s3/default_credentials.h"

#include <utility>
#include <vector>

#include "s3/container_credentials.h"
#include "s3/env_credentials.h"
#include "s3/imds_credentials.h"
#include "s3/profile_credentials.h"
#include "s3/web_identity_credentials.h"

namespace headrace::s3 {

std::unique_ptr<CredentialsProvider> DefaultCredentials(const ProviderContext& context,
                                                        const std::string& profile,
                                                        const std::string& region) {
  const bool named = !profile.empty() || context.environment.getenv("AWS_PROFILE").has_value();
  std::vector<std::unique_ptr<CredentialsProvider>> chain;
  if (profile.empty()) chain.push_back(std::make_unique<EnvCredentials>(context.environment));
  auto from_profile = std::make_unique<ProfileCredentials>(
      context, ProfileName(profile, context.environment), named, region);
  auto from_web_identity = std::make_unique<WebIdentityCredentials>(context, region);
  if (named) {
    chain.push_back(std::move(from_profile));
    chain.push_back(std::move(from_web_identity));
  } else {
    chain.push_back(std::move(from_web_identity));
    chain.push_back(std::move(from_profile));
  }
  chain.push_back(std::make_unique<ContainerCredentials>(context));
  chain.push_back(std::make_unique<ImdsCredentials>(context));
  return std::make_unique<ChainCredentials>(std::move(chain));
}

}  // namespace headrace::s3
