// The JSON in which metadata services and credential processes give credentials.
#pragma once

#include <string>
#include <string_view>

#include "headrace/status.h"
#include "s3/credentials.h"

namespace headrace::s3 {

// Reads {"AccessKeyId", "SecretAccessKey", TOKEN_FIELD, "Expiration"}; the token and the expiration
// may be missing. kCredentials, naming `source` and what is wrong but nothing of the contents, for
// anything else; the "Code" and "Message" of a service's refusal are passed on.
Result<Credentials> ParseCredentialJson(std::string_view json, const char* token_field,
                                        const std::string& source);

}  // namespace headrace::s3
