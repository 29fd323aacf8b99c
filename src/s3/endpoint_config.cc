#include "s3/endpoint_config.h"

#include <fmt/format.h>
#include <utility>

#include "base/macros.h"
#include "s3/aws_config.h"
#include "s3/imds.h"

namespace headrace::s3 {
namespace {

constexpr std::string_view kDefaultRegion = "us-east-1";

// A setting, and where it stands.
struct Found {
  std::string value;
  std::string source;
};

Found FindEndpointUrl(const EndpointOptions& options, const Environment& environment,
                      const AwsConfig& config, const std::string& profile) {
  if (!options.endpoint_url.empty()) return {options.endpoint_url, "the endpoint option"};
  if (environment.Flag("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) return {};
  for (const char* variable : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
    if (auto url = environment.getenv(variable)) return {*url, variable};
  }
  if (auto url = config.GetService(profile, "s3.endpoint_url")) {
    return {*url, fmt::format("the services section of profile '{}'", profile)};
  }
  if (auto url = config.Get(profile, "endpoint_url")) {
    return {*url, fmt::format("profile '{}'", profile)};
  }
  return {};
}

// A region becomes part of a host name, so it must be able to be one.
Status CheckRegion(std::string_view region) {
  if (region.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
      std::string_view::npos) {
    return {};
  }
  return Status(StatusCode::kInvalidArgument,
                fmt::format("'{}' is not the name of a region, such as eu-west-1", region));
}

}  // namespace

Result<Endpoint> ResolveEndpoint(const EndpointOptions& options, const Environment& environment,
                                 const HttpFetch& fetch, std::stop_token stop, Deadline deadline) {
  ASSIGN_OR_RETURN(const AwsConfig config, AwsConfig::Load(environment));
  const std::string profile = ProfileName(options.profile, environment);
  const bool named = !options.profile.empty() || environment.getenv("AWS_PROFILE").has_value();
  if (named && config.profile(profile) == nullptr) return config.NoSuchProfile(profile);

  std::string region = options.region;
  if (region.empty()) region = environment.Get("AWS_REGION");
  if (region.empty()) region = environment.Get("AWS_DEFAULT_REGION");
  if (region.empty()) region = config.Get(profile, "region").value_or("");

  Endpoint endpoint;
  const Found url = FindEndpointUrl(options, environment, config, profile);
  if (!url.value.empty()) {
    Result<Endpoint> parsed = Endpoint::FromUrl(url.value, region);
    if (!parsed.ok()) return parsed.status().WithContext(url.source);
    endpoint = *std::move(parsed);
    if (endpoint.region.empty()) endpoint.region = kDefaultRegion;
    RETURN_IF_ERROR(CheckRegion(endpoint.region));
  } else {
    if (region.empty() && fetch) {
      ImdsClient imds(environment, fetch);
      Result<std::string> found = imds.Get("/latest/meta-data/placement/region", stop, deadline);
      if (found.status().code() == StatusCode::kCancelled) return found.status();
      if (found.ok()) region = *std::move(found);
    }
    if (region.empty()) region = kDefaultRegion;
    RETURN_IF_ERROR(CheckRegion(region));
    endpoint = Endpoint::ForAwsRegion(region);
  }

  endpoint.style = options.style;
  if (endpoint.style == AddressingStyle::kAuto) {
    const std::string style = config.Get(profile, "s3.addressing_style").value_or("auto");
    if (style == "path") endpoint.style = AddressingStyle::kPath;
    if (style == "virtual") endpoint.style = AddressingStyle::kVirtual;
  }
  return endpoint;
}

}  // namespace headrace::s3
