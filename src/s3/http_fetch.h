// The one HTTP exchange that credentials and region discovery need, injected: net implements it,
// tests script it.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "headrace/status.h"

namespace headrace::s3 {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct FetchRequest {
  std::string method = "GET";
  std::string url;  // absolute
  HeaderList headers;
  std::string body;
  // Link-local metadata services must never be asked through a proxy.
  bool bypass_proxy = false;
};

struct FetchResponse {
  int status = 0;
  HeaderList headers;
  std::string body;
};

// Blocks. Errors are those of the transport (kUnreachable, kTimeout, kCancelled, …); an answer of
// any HTTP status is a success. Redirects are not followed: the callers send secrets.
using HttpFetch = std::function<Result<FetchResponse>(const FetchRequest& request,
                                                      std::stop_token stop, Deadline deadline)>;

struct FetchPatience {
  int attempts = 3;                 // while the service answers 429 or 5xx
  int attempts_without_answer = 3;  // while it does not answer
  Duration attempt_timeout = std::chrono::seconds(5);
  Duration first_pause = std::chrono::milliseconds(100);  // doubled after each attempt
};

// Fetches again after 429, 5xx, and failures to connect or to answer in time; the last answer
// stands.
Result<FetchResponse> FetchPatiently(const HttpFetch& fetch, const FetchRequest& request,
                                     const FetchPatience& patience, std::stop_token stop,
                                     Deadline deadline);

}  // namespace headrace::s3
