#include "s3/http_fetch.h"

#include <condition_variable>
#include <mutex>

namespace headrace::s3 {
namespace {

// False when `stop` came first.
bool Pause(Duration d, std::stop_token stop) {
  std::mutex mu;
  std::condition_variable_any never;
  std::unique_lock lock(mu);
  never.wait_for(lock, stop, d, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace

Result<FetchResponse> FetchPatiently(const HttpFetch& fetch, const FetchRequest& request,
                                     const FetchPatience& patience, std::stop_token stop,
                                     Deadline deadline) {
  Duration pause = patience.first_pause;
  for (int attempt = 1;; ++attempt, pause *= 2) {
    Result<FetchResponse> response =
        fetch(request, stop, deadline.Earlier(Deadline::After(patience.attempt_timeout)));
    const bool worth_retrying = response.ok()
                                    ? response->status >= 500 || response->status == 429
                                    : response.status().code() == StatusCode::kUnreachable ||
                                          response.status().code() == StatusCode::kTimeout;
    const int attempts = response.ok() ? patience.attempts : patience.attempts_without_answer;
    if (!worth_retrying || attempt >= attempts) return response;
    const bool no_time =
        !deadline.never() && std::chrono::steady_clock::now() + pause >= deadline.at();
    if (no_time || !Pause(pause, stop)) return response;
  }
}

}  // namespace headrace::s3
