#include "s3/credentials.h"

#include <fmt/format.h>

namespace headrace::s3 {

Result<Credentials> StaticCredentials::Fetch(std::stop_token /*stop*/, Deadline /*deadline*/) {
  if (credentials_.access_key_id.empty() != credentials_.secret_access_key.empty()) {
    return Status(StatusCode::kCredentials,
                  credentials_.access_key_id.empty()
                      ? "a secret access key was given without its access key id"
                      : "an access key id was given without its secret access key");
  }
  return credentials_;
}

Result<Credentials> ChainCredentials::Fetch(std::stop_token stop, Deadline deadline) {
  std::string tried;
  for (const auto& provider : providers_) {
    Result<Credentials> credentials = provider->Fetch(stop, deadline);
    if (credentials.ok() || credentials.status().code() != StatusCode::kNotFound) {
      return credentials;
    }
    tried += fmt::format("{}{} ({})", tried.empty() ? "" : "; ", provider->name(),
                         credentials.status().message());
  }
  return Status(StatusCode::kCredentials,
                fmt::format("no credentials found; looked at: {}. Set AWS_ACCESS_KEY_ID and "
                            "AWS_SECRET_ACCESS_KEY, choose a profile with AWS_PROFILE, or ask for "
                            "unsigned requests if the bucket is public (--no-sign-request, or "
                            "unsigned=True in ClientConfig)",
                            tried));
}

}  // namespace headrace::s3
