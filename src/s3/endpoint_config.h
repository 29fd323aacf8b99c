// Which endpoint and region a client uses, from its options, the environment and the profile, in
// the AWS SDKs' order.
#pragma once

#include <stop_token>
#include <string>

#include "base/deadline.h"
#include "s3/endpoint.h"
#include "s3/environment.h"
#include "s3/http_fetch.h"

namespace headrace::s3 {

struct EndpointOptions {
  std::string region;        // "": from the environment
  std::string endpoint_url;  // "": from the environment; AWS's own if that names none either
  std::string profile;       // "": from the environment
  AddressingStyle style = AddressingStyle::kAuto;
};

// The endpoint: option, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's services section, the
// profile's endpoint_url, AWS (AWS_IGNORE_CONFIGURED_ENDPOINT_URLS skips all but the option). The
// region: option, AWS_REGION, AWS_DEFAULT_REGION, profile, the endpoint's own name, and on AWS the
// instance metadata; us-east-1 when nothing says (AWS answers with the right one). The style:
// option, then the profile's s3.addressing_style.
//
// Blocks only to read files and, as said, to ask the metadata service. Errors: kNotFound for a
// profile that was named and is missing, kInvalidArgument for a malformed endpoint (naming where it
// came from), kCredentials for an unreadable configuration file.
Result<Endpoint> ResolveEndpoint(const EndpointOptions& options, const Environment& environment,
                                 const HttpFetch& fetch, std::stop_token stop, Deadline deadline);

}  // namespace headrace::s3
