// The credential endpoint of ECS tasks and EKS pods (EKS Pod Identity):
// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, with AWS_CONTAINER_AUTHORIZATION_TOKEN or
// _FILE.
#pragma once

#include <string>
#include <string_view>

#include "s3/credentials.h"
#include "s3/provider_context.h"

namespace headrace::s3 {

class ContainerCredentials : public CredentialsProvider {
 public:
  explicit ContainerCredentials(ProviderContext context) : context_(std::move(context)) {}
  Result<Credentials> Fetch(std::stop_token stop, Deadline deadline) override;
  std::string name() const override { return "container endpoint"; }

 private:
  ProviderContext context_;
};

// Whether a full URI may be asked: https, this machine, or one of the link-local addresses of ECS
// and EKS. Anything else could be handed the authorization token by a changed variable.
bool IsAllowedContainerUrl(std::string_view url);

}  // namespace headrace::s3
