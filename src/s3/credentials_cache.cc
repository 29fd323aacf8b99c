#include "s3/credentials_cache.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "s3/time_text.h"

namespace headrace::s3 {
namespace {

// A provider that takes longer (a login in a browser) has to be run beforehand.
constexpr Duration kFetchTimeout = std::chrono::minutes(2);
constexpr WallTime::duration kRenewAhead = std::chrono::minutes(5);
constexpr Duration kFirstBackoff = std::chrono::seconds(1);
constexpr Duration kMaxBackoff = std::chrono::seconds(10);

}  // namespace

CredentialsCache::CredentialsCache(std::unique_ptr<CredentialsProvider> provider,
                                   const Clock* clock)
    : provider_(std::move(provider)), clock_(clock) {}

CredentialsCache::~CredentialsCache() {
  std::jthread thread;
  {
    std::lock_guard lock(mu_);
    thread = std::move(thread_);
  }
  if (thread.joinable()) {
    thread.request_stop();
    thread.join();
  }
  for (const Callback& callback : waiting_) {
    callback(Status(StatusCode::kCancelled, "the client was closed"));
  }
}

bool CredentialsCache::Usable() const {
  if (!current_ || refused_) return false;
  return !current_->expiration || clock_->WallNow() < *current_->expiration;
}

bool CredentialsCache::InBackoff() const { return failures_ > 0 && clock_->Now() < next_try_; }

void CredentialsCache::StartFetch() {
  fetching_ = true;
  if (!thread_.joinable()) thread_ = std::jthread([this](std::stop_token stop) { Run(stop); });
  wake_.notify_one();
}

CredentialsCache::Ptr CredentialsCache::Get() {
  std::lock_guard lock(mu_);
  if (!Usable()) return nullptr;
  if (renew_at_ && !fetching_ && clock_->WallNow() >= *renew_at_ && !InBackoff()) StartFetch();
  return current_;
}

void CredentialsCache::GetAsync(Callback callback) {
  if (Ptr credentials = Get()) {
    callback(std::move(credentials));
    return;
  }
  Result<Ptr> now = Ptr();
  {
    std::lock_guard lock(mu_);
    if (Usable()) {  // fetched in between
      now = current_;
    } else if (!fetching_ && InBackoff()) {
      now = failure_;
    } else {
      waiting_.push_back(std::move(callback));
      if (!fetching_) StartFetch();
      return;
    }
  }
  callback(std::move(now));
}

void CredentialsCache::Invalidate(const Credentials& used) {
  std::lock_guard lock(mu_);
  if (current_ && current_->access_key_id == used.access_key_id &&
      current_->session_token == used.session_token) {
    refused_ = true;
  }
}

std::uint64_t CredentialsCache::fetches() const {
  std::lock_guard lock(mu_);
  return fetches_;
}

bool CredentialsCache::fetching() const {
  std::lock_guard lock(mu_);
  return fetching_;
}

void CredentialsCache::Run(std::stop_token stop) {
  for (;;) {
    {
      std::unique_lock lock(mu_);
      if (!wake_.wait(lock, stop, [this] { return fetching_; })) return;
      ++fetches_;
    }
    Result<Ptr> result = FetchOnce(stop);
    if (stop.stop_requested()) return;
    Publish(std::move(result));
  }
}

Result<CredentialsCache::Ptr> CredentialsCache::FetchOnce(std::stop_token stop) {
  Result<Credentials> fetched = provider_->Fetch(std::move(stop), Deadline::After(kFetchTimeout));
  if (!fetched.ok()) {
    const Status& status = fetched.status();
    if (status.code() == StatusCode::kCredentials) return status;
    return Status(StatusCode::kCredentials,
                  fmt::format("no credentials from {}: {}", provider_->name(), status.message()));
  }
  if (fetched->expiration && *fetched->expiration <= clock_->WallNow()) {
    return Status(StatusCode::kCredentials,
                  fmt::format("credentials expired: {} gave some that ended at {}; renew them, and "
                              "check this machine's clock ({} now)",
                              provider_->name(), FormatIso8601(*fetched->expiration),
                              FormatIso8601(clock_->WallNow())));
  }
  return std::make_shared<const Credentials>(*std::move(fetched));
}

void CredentialsCache::Publish(Result<Ptr> result) {
  std::vector<Callback> callbacks;
  {
    std::lock_guard lock(mu_);
    if (result.ok() && refused_ && (*result)->access_key_id == current_->access_key_id &&
        (*result)->session_token == current_->session_token) {
      result =
          Status(StatusCode::kCredentials,
                 fmt::format("credentials expired: the server refused those of {}, which has no "
                             "newer ones; renew them (log in again)",
                             provider_->name()));
    }
    fetching_ = false;
    if (result.ok()) {
      current_ = *result;
      refused_ = false;
      failures_ = 0;
      renew_at_.reset();
      if (current_->expiration) {
        const auto lifetime = *current_->expiration - clock_->WallNow();
        renew_at_ = *current_->expiration - std::min(kRenewAhead, lifetime / 5);
      }
    } else {
      failure_ = result.status();
      next_try_ =
          clock_->Now() + std::min(kMaxBackoff, kFirstBackoff * (1 << std::min(failures_, 4)));
      ++failures_;
    }
    callbacks.swap(waiting_);
  }
  for (const Callback& callback : callbacks) callback(result);
}

}  // namespace headrace::s3
