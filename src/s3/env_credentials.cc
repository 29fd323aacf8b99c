#include "s3/env_credentials.h"

#include <optional>

namespace headrace::s3 {

Result<Credentials> EnvCredentials::Fetch(std::stop_token /*stop*/, Deadline /*deadline*/) {
  const std::optional<std::string> id = environment_.getenv("AWS_ACCESS_KEY_ID");
  const std::optional<std::string> secret = environment_.getenv("AWS_SECRET_ACCESS_KEY");
  if (!id && !secret) return Status(StatusCode::kNotFound, "AWS_ACCESS_KEY_ID is not set");
  if (!id || !secret) {
    return Status(StatusCode::kCredentials,
                  id ? "AWS_ACCESS_KEY_ID is set but AWS_SECRET_ACCESS_KEY is not"
                     : "AWS_SECRET_ACCESS_KEY is set but AWS_ACCESS_KEY_ID is not");
  }
  return Credentials{*id, *secret, environment_.Get("AWS_SESSION_TOKEN"), std::nullopt};
}

}  // namespace headrace::s3
