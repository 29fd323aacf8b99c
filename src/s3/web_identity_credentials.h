// A role assumed with an identity token from a file (IAM roles for service accounts on EKS):
// AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME.
#pragma once

#include <string>

#include "s3/credentials.h"
#include "s3/provider_context.h"
#include "s3/sts.h"

namespace headrace::s3 {

class WebIdentityCredentials : public CredentialsProvider {
 public:
  // `region` is where STS is asked, unless the environment names an endpoint of its own.
  WebIdentityCredentials(ProviderContext context, std::string region)
      : context_(std::move(context)), region_(std::move(region)) {}
  Result<Credentials> Fetch(std::stop_token stop, Deadline deadline) override;
  std::string name() const override { return "web identity"; }

 private:
  ProviderContext context_;
  std::string region_;
};

// Reads the token afresh (Kubernetes replaces it) and exchanges it. kCredentials as above.
Result<Credentials> ExchangeTokenFile(const ProviderContext& context, const std::string& sts_url,
                                      const std::string& token_file, const RoleRequest& role,
                                      std::stop_token stop, Deadline deadline);

}  // namespace headrace::s3
