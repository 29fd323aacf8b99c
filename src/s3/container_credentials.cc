#include "s3/container_credentials.h"

#include <fmt/format.h>

#include "s3/credential_json.h"
#include "s3/endpoint.h"

namespace headrace::s3 {
namespace {

constexpr std::string_view kEcsHost = "http://169.254.170.2";

}  // namespace

bool IsAllowedContainerUrl(std::string_view url) {
  const std::size_t path =
      url.find('/', url.find("://") == std::string_view::npos ? 0 : url.find("://") + 3);
  const Result<Endpoint> endpoint = Endpoint::FromUrl(url.substr(0, path), "none");
  if (!endpoint.ok()) return false;
  if (endpoint->scheme == "https") return true;
  const std::string& host = endpoint->host;
  const bool ipv4_loopback = host.starts_with("127.") && IsLocalOrAddress(host);
  return host == "localhost" || ipv4_loopback || host == "::1" || host == "169.254.170.2" ||
         host == "169.254.170.23" || host == "fd00:ec2::23";
}

Result<Credentials> ContainerCredentials::Fetch(std::stop_token stop, Deadline deadline) {
  const Environment& environment = context_.environment;
  FetchRequest request{.bypass_proxy = true};
  if (const auto relative = environment.getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    request.url = fmt::format("{}{}{}", kEcsHost, relative->starts_with('/') ? "" : "/", *relative);
  } else if (const auto full = environment.getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
    request.url = *full;
    if (!IsAllowedContainerUrl(*full)) {
      return Status(
          StatusCode::kCredentials,
          fmt::format("AWS_CONTAINER_CREDENTIALS_FULL_URI is '{}'; only https, this machine "
                      "and the container services' own addresses are asked",
                      *full));
    }
  } else {
    return Status(StatusCode::kNotFound,
                  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI are not set");
  }

  std::string token = environment.Get("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const auto path = environment.getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    // Read each time: Kubernetes replaces the file while the pod runs.
    Result<std::string> text = environment.read_file(*path);
    if (!text.ok()) {
      return Status(
          StatusCode::kCredentials,
          fmt::format("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: {}", text.status().message()));
    }
    token = *std::move(text);
    while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  }
  if (token.find_first_of("\r\n") != std::string::npos) {
    return Status(StatusCode::kCredentials, "the container authorization token holds a line break");
  }
  if (!token.empty()) request.headers.emplace_back("authorization", token);

  Result<FetchResponse> response = FetchPatiently(context_.fetch, request, {}, stop, deadline);
  if (!response.ok()) {
    if (response.status().code() == StatusCode::kCancelled) return response.status();
    return Status(StatusCode::kCredentials,
                  fmt::format("the container endpoint {} did not answer: {}", request.url,
                              response.status().message()));
  }
  if (response->status != 200) {
    return Status(
        StatusCode::kCredentials,
        fmt::format("the container endpoint {} answered HTTP {}", request.url, response->status));
  }
  return ParseCredentialJson(response->body, "Token", "the container endpoint");
}

}  // namespace headrace::s3
