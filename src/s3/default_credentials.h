// The default credential chain, in the AWS SDKs' order.
#pragma once

#include <memory>
#include <string>

#include "s3/credentials.h"
#include "s3/provider_context.h"

namespace headrace::s3 {

// Environment, web identity, profile, container endpoint, instance metadata. A profile that the
// user named (`profile`, or AWS_PROFILE when that is empty) comes before the web identity; one
// named by `profile` also before the environment, which then is not looked at. `region` is where
// STS is asked.
std::unique_ptr<CredentialsProvider> DefaultCredentials(const ProviderContext& context,
                                                        const std::string& profile,
                                                        const std::string& region);

}  // namespace headrace::s3
