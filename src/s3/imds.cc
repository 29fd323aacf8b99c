#include "s3/imds.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/macros.h"
#include "s3/xml_reader.h"

namespace headrace::s3 {
namespace {

constexpr int kMaxSeconds = 60;

}  // namespace

std::string ImdsClient::BaseUrl() const {
  const bool ipv6 = environment_.Get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE") == "IPv6" ||
                    environment_.Get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE") == "ipv6";
  std::string url = environment_.Get("AWS_EC2_METADATA_SERVICE_ENDPOINT",
                                     ipv6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254");
  while (url.ends_with('/')) url.pop_back();
  return url;
}

Result<FetchResponse> ImdsClient::Ask(FetchRequest request, std::stop_token stop,
                                      Deadline deadline) {
  const int seconds = std::clamp(
      ParseNumber<int>(environment_.Get("AWS_METADATA_SERVICE_TIMEOUT", "1")).value_or(1), 1,
      kMaxSeconds);
  const int attempts = std::clamp(
      ParseNumber<int>(environment_.Get("AWS_METADATA_SERVICE_NUM_ATTEMPTS", "1")).value_or(1), 1,
      10);
  request.bypass_proxy = true;
  // Who does not answer is asked no more often than the user wants; who is only busy is there.
  FetchPatience patience{.attempts_without_answer = attempts,
                         .attempt_timeout = std::chrono::seconds(seconds)};
  patience.attempts = std::max(patience.attempts, attempts);
  return FetchPatiently(fetch_, request, patience, stop, deadline);
}

Status ImdsClient::RenewToken(std::stop_token stop, Deadline deadline) {
  FetchRequest request{.method = "PUT",
                       .url = BaseUrl() + "/latest/api/token",
                       .headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}}};
  Result<FetchResponse> response = Ask(std::move(request), stop, deadline);
  if (response.status().code() == StatusCode::kCancelled) return response.status();
  if (!response.ok()) {
    return Status(StatusCode::kNotFound, fmt::format("no answer from {}", BaseUrl()));
  }
  if (response->status != 200) {
    // 403: switched off for this instance; 404: something else listens there.
    const bool off = response->status == 403 || response->status == 404 || response->status == 405;
    return Status(
        off ? StatusCode::kNotFound : StatusCode::kCredentials,
        fmt::format("{} refused a session token with HTTP {}", BaseUrl(), response->status));
  }
  token_ = response->body;
  return {};
}

Result<std::string> ImdsClient::Get(const std::string& path, std::stop_token stop,
                                    Deadline deadline) {
  if (environment_.Flag("AWS_EC2_METADATA_DISABLED")) {
    return Status(StatusCode::kNotFound, "switched off by AWS_EC2_METADATA_DISABLED");
  }
  const bool fresh = token_.empty();
  if (fresh) RETURN_IF_ERROR(RenewToken(stop, deadline));
  for (bool renewed = fresh;; renewed = true) {
    FetchRequest request{.url = BaseUrl() + path,
                         .headers = {{"x-aws-ec2-metadata-token", token_}}};
    Result<FetchResponse> response = Ask(std::move(request), stop, deadline);
    if (response.status().code() == StatusCode::kCancelled) return response.status();
    if (!response.ok()) {
      return Status(StatusCode::kNotFound, fmt::format("no answer from {}", BaseUrl()));
    }
    if (response->status == 200) return std::move(response->body);
    if (response->status == 401 && !renewed) {  // the token's six hours are over
      RETURN_IF_ERROR(RenewToken(stop, deadline));
      continue;
    }
    return Status(response->status == 404 ? StatusCode::kNotFound : StatusCode::kCredentials,
                  fmt::format("{}{} answered HTTP {}", BaseUrl(), path, response->status));
  }
}

}  // namespace headrace::s3
