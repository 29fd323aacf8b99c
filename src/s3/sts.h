// AWS Security Token Service: exchanging credentials, or an identity token, for those of a role.
#pragma once

#include <stop_token>
#include <string>

#include "base/deadline.h"
#include "headrace/status.h"
#include "s3/aws_config.h"
#include "s3/credentials.h"
#include "s3/provider_context.h"

namespace headrace::s3 {

struct RoleRequest {
  std::string role_arn;
  std::string session_name;      // "": a name made of the time
  std::string external_id;       // "": none
  std::string duration_seconds;  // "": the service's default of an hour
};

// Where STS is: AWS_ENDPOINT_URL_STS, AWS_ENDPOINT_URL, the profile's services section and
// endpoint_url, else AWS's endpoint in `region`.
std::string StsUrl(const Environment& environment, const AwsConfig& config,
                   const std::string& profile, const std::string& region);

// Block on HTTP. Errors: kCredentials with STS's own words and the role; kCancelled.
Result<Credentials> AssumeRole(const ProviderContext& context, const std::string& sts_url,
                               const std::string& region, const Credentials& source,
                               const RoleRequest& role, std::stop_token stop, Deadline deadline);
Result<Credentials> AssumeRoleWithWebIdentity(const ProviderContext& context,
                                              const std::string& sts_url, const std::string& token,
                                              const RoleRequest& role, std::stop_token stop,
                                              Deadline deadline);

}  // namespace headrace::s3
