#include "s3/imds_credentials.h"

#include "base/macros.h"
#include "s3/credential_json.h"
#include "s3/uri.h"

namespace headrace::s3 {

Result<Credentials> ImdsCredentials::Fetch(std::stop_token stop, Deadline deadline) {
  const std::string path = "/latest/meta-data/iam/security-credentials/";
  Result<std::string> roles = imds_.Get(path, stop, deadline);
  if (!roles.ok()) return roles.status();
  const std::string role = roles->substr(0, roles->find_first_of("\r\n"));
  if (role.empty()) return Status(StatusCode::kNotFound, "the instance has no role");
  ASSIGN_OR_RETURN(const std::string json, imds_.Get(path + EncodePath(role), stop, deadline));
  return ParseCredentialJson(json, "Token", "the instance metadata service");
}

}  // namespace headrace::s3
