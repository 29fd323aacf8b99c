// The role of an EC2 instance, from its metadata service.
#pragma once

#include <string>

#include "s3/credentials.h"
#include "s3/imds.h"
#include "s3/provider_context.h"

namespace headrace::s3 {

class ImdsCredentials : public CredentialsProvider {
 public:
  explicit ImdsCredentials(const ProviderContext& context)
      : imds_(context.environment, context.fetch) {}
  Result<Credentials> Fetch(std::stop_token stop, Deadline deadline) override;
  std::string name() const override { return "instance metadata (IMDS)"; }

 private:
  ImdsClient imds_;
};

}  // namespace headrace::s3
