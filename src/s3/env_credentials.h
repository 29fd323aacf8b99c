// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
#pragma once

#include <string>

#include "s3/credentials.h"
#include "s3/environment.h"

namespace headrace::s3 {

class EnvCredentials : public CredentialsProvider {
 public:
  explicit EnvCredentials(Environment environment) : environment_(std::move(environment)) {}
  Result<Credentials> Fetch(std::stop_token stop, Deadline deadline) override;
  std::string name() const override { return "environment"; }

 private:
  Environment environment_;
};

}  // namespace headrace::s3
