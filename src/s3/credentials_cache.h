// The credentials in force, fetched once for all requests and renewed before they expire.
//
//   fresh        Get() returns them
//   near expiry  Get() returns them and starts a fetch in the background
//   none, expired or refused by the server
//                Get() returns null; GetAsync() calls back when the fetch ends
//
// At most one fetch runs at a time, on a thread of the cache's own that starts with the first one.
// After a failure nothing is fetched for a second (then two, four, … up to ten): whoever asks
// meanwhile gets the old credentials while they hold, and after that the failure.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "headrace/status.h"
#include "s3/credentials.h"

namespace headrace::s3 {

// Safe for use from many threads. In a fork's child neither used nor destroyed (base/fork.h).
class CredentialsCache {
 public:
  using Ptr = std::shared_ptr<const Credentials>;
  using Callback = std::function<void(Result<Ptr>)>;

  // `clock` must outlive the cache.
  CredentialsCache(std::unique_ptr<CredentialsProvider> provider, const Clock* clock);
  // Stops a running fetch, waits for it, and calls the waiting callbacks with kCancelled.
  ~CredentialsCache();
  CredentialsCache(const CredentialsCache&) = delete;
  CredentialsCache& operator=(const CredentialsCache&) = delete;

  // The credentials to sign with now; null when they must be waited for. Never blocks.
  Ptr Get();

  // Calls back with credentials that hold, at once on this thread when there are some, else on the
  // cache's thread when the fetch has ended. Errors: kCredentials, with what was tried and the
  // cure; kCancelled. The callback must be short and must not destroy the cache.
  void GetAsync(Callback callback);

  // The server refused `used` as expired: they are not given out again. When the provider then
  // gives the same once more, that is an error at once, not a loop.
  void Invalidate(const Credentials& used);

  // Calls of the provider so far.
  std::uint64_t fetches() const;
  // Whether one runs now.
  bool fetching() const;

 private:
  bool Usable() const;             // REQUIRES: mu_ held
  bool InBackoff() const;          // REQUIRES: mu_ held
  void StartFetch();               // REQUIRES: mu_ held, no fetch running
  void Run(std::stop_token stop);  // the thread
  Result<Ptr> FetchOnce(std::stop_token stop);
  void Publish(Result<Ptr> result);

  const std::unique_ptr<CredentialsProvider> provider_;  // used by the thread alone
  const Clock* const clock_;

  mutable std::mutex mu_;
  std::condition_variable_any wake_;
  Ptr current_;                       // guarded by mu_; null before the first fetch
  std::optional<WallTime> renew_at_;  // guarded by mu_
  bool refused_ = false;              // guarded by mu_; current_ was invalidated
  bool fetching_ = false;             // guarded by mu_
  Status failure_;                    // guarded by mu_; of the last fetch
  SteadyTime next_try_{};             // guarded by mu_; no fetch before it
  int failures_ = 0;                  // guarded by mu_; in a row
  std::vector<Callback> waiting_;     // guarded by mu_
  std::uint64_t fetches_ = 0;         // guarded by mu_
  std::jthread thread_;               // guarded by mu_; last, so that it ends first
};

}  // namespace headrace::s3
