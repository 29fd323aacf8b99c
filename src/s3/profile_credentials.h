// What a profile of the AWS configuration files gives: keys, a credential_process, or a role
// assumed with another profile's credentials.
#pragma once

#include <set>
#include <string>

#include "s3/aws_config.h"
#include "s3/credentials.h"
#include "s3/provider_context.h"

namespace headrace::s3 {

class ProfileCredentials : public CredentialsProvider {
 public:
  // `required`: the user named this profile, so that it must exist; otherwise a missing one is
  // kNotFound. `region` is where STS is asked for roles whose profile has no region.
  ProfileCredentials(ProviderContext context, std::string profile, bool required,
                     std::string region)
      : context_(std::move(context)),
        profile_(std::move(profile)),
        required_(required),
        region_(std::move(region)) {}

  Result<Credentials> Fetch(std::stop_token stop, Deadline deadline) override;
  std::string name() const override { return "profile '" + profile_ + "'"; }

 private:
  struct Chain;  // one Fetch: the files as read, and the profiles gone through

  Result<Credentials> Resolve(Chain& chain, const std::string& profile);
  Result<Credentials> Keys(Chain& chain, const std::string& profile);
  Result<Credentials> Process(Chain& chain, const std::string& profile);
  Result<Credentials> Role(Chain& chain, const std::string& profile);
  Result<Credentials> RoleSource(Chain& chain, const std::string& profile);

  ProviderContext context_;
  std::string profile_;
  bool required_;
  std::string region_;
};

}  // namespace headrace::s3
