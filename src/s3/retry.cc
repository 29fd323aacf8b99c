#include "s3/retry.h"

#include <algorithm>
#include <charconv>

#include "s3/time_text.h"

namespace headrace::s3 {
namespace {

// A second refresh covers credentials that expire between being fetched and being used; a third
// would mean that the fresh ones are refused.
constexpr int kMaxRefreshes = 2;
constexpr int kMaxCorrections = 1;
constexpr int kMaxRedirects = 3;

bool TakeOne(int& used, int limit) { return used++ < limit; }

}  // namespace

Duration Backoff(const RetryOptions& options, ErrorClass error_class, int retries_so_far,
                 Duration retry_after, Random& random) {
  const auto base = error_class == ErrorClass::kThrottle ? options.throttle_base : options.base;
  // 2^30 times any base is past every cap, and shifting by more would overflow.
  const double factor = static_cast<double>(std::int64_t{1} << std::min(retries_so_far, 30));
  const double millis = std::min(static_cast<double>(base.count()) * factor,
                                 static_cast<double>(options.cap.count()));
  const std::chrono::duration<double, std::milli> jitter(millis * random.Uniform());
  return retry_after + std::chrono::duration_cast<Duration>(jitter);
}

Duration ParseRetryAfter(std::string_view value, WallTime now) {
  constexpr std::int64_t kMaxSeconds = std::int64_t{24} * 3600;
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error == std::errc() && end == value.data() + value.size()) {
    return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kMaxSeconds));
  }
  if (const std::optional<WallTime> at = ParseHttpDate(value); at && *at > now) {
    return std::min<Duration>(*at - now, std::chrono::seconds(kMaxSeconds));
  }
  return Duration::zero();
}

std::optional<Duration> RetryState::Next(ErrorClass error_class, Duration retry_after,
                                         Random& random) {
  ++attempts_;
  switch (error_class) {
    case ErrorClass::kAuthRefresh:
      return TakeOne(refreshes_, kMaxRefreshes) ? std::optional(Duration::zero()) : std::nullopt;
    case ErrorClass::kClockSkew:
      return TakeOne(corrections_, kMaxCorrections) ? std::optional(Duration::zero())
                                                    : std::nullopt;
    case ErrorClass::kRedirect:
      return TakeOne(redirects_, kMaxRedirects) ? std::optional(Duration::zero()) : std::nullopt;
    case ErrorClass::kThrottle:
    case ErrorClass::kTransient:
      if (backoffs_ + 1 >= options_.max_attempts) return std::nullopt;
      return Backoff(options_, error_class, backoffs_++, retry_after, random);
    case ErrorClass::kNone:
    case ErrorClass::kFatal:
      break;
  }
  return std::nullopt;
}

double RetryBudget::Refilled(SteadyTime now) const {
  if (!started_) return tokens_;
  const std::chrono::duration<double> elapsed = now - updated_;
  return std::min(options_.capacity,
                  tokens_ + std::max(0.0, elapsed.count()) * options_.per_second);
}

Duration RetryBudget::Take(SteadyTime now) {
  std::lock_guard lock(mu_);
  tokens_ = Refilled(now) - 1;
  updated_ = started_ ? std::max(updated_, now) : now;
  started_ = true;
  if (tokens_ >= 0) return Duration::zero();
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(-tokens_ / options_.per_second));
}

void RetryBudget::OnSuccess() {
  std::lock_guard lock(mu_);
  tokens_ = std::min(options_.capacity, tokens_ + options_.per_success);
}

double RetryBudget::tokens(SteadyTime now) const {
  std::lock_guard lock(mu_);
  return Refilled(now);
}

}  // namespace headrace::s3
