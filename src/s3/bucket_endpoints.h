// Where each bucket's requests go: the configured endpoint, corrected by what the service answers.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "net/http.h"
#include "s3/endpoint.h"
#include "s3/error.h"

namespace headrace::s3 {

// A target, and what the transport has to know besides.
struct Route {
  std::shared_ptr<const Endpoint> endpoint;
  Target target;
  std::string origin;  // "http://host:port": what stands before the path in the URL
  std::string proxy;   // "" = none
  // The host is an address, or the proxy looks it up.
  bool skip_lookup = false;
};

// Safe for use from many threads.
class BucketEndpoints {
 public:
  explicit BucketEndpoints(Endpoint endpoint)
      : endpoint_(std::make_shared<const Endpoint>(std::move(endpoint))) {}

  Route For(std::string_view bucket, std::string_view key) const;
  // A redirect's answer to a request that went to `asked`: remembers where the bucket is. An error
  // when it leads out of the endpoint's own domain, or nowhere new. Others may have followed first:
  // then the bucket has moved on from `asked` already.
  Status Follow(const std::string& bucket, const std::shared_ptr<const Endpoint>& asked,
                const ServerAnswer& answer);

  // What to sign with, when the server's clock and ours differ.
  void SetClockOffset(std::chrono::seconds offset) { clock_offset_ = offset.count(); }
  WallTime SigningTime(WallTime now) const { return now + std::chrono::seconds(clock_offset_); }

  // The service answers 412 to an If-Match with the object's own ETag: the ETags of its answers are
  // compared instead.
  void SetRefusesIfMatch() { refuses_if_match_ = true; }
  bool refuses_if_match() const { return refuses_if_match_; }

  // Whether the service ever answered: else its address is probably wrong.
  void SetAnswered() {
    if (!answered_) answered_ = true;
  }
  bool answered() const { return answered_; }

  // Of the bucket, as far as is known.
  std::shared_ptr<const Endpoint> EndpointOf(std::string_view bucket) const;

 private:
  // The environment is asked once per host.
  std::string ProxyOf(const std::string& scheme, const std::string& host) const;

  const std::shared_ptr<const Endpoint> endpoint_;
  mutable std::mutex mu_;
  // Guarded by mu_; by bucket.
  std::map<std::string, std::shared_ptr<const Endpoint>, std::less<>> moved_;
  mutable std::map<std::string, std::string> proxies_;  // guarded by mu_; by host
  std::atomic<std::int64_t> clock_offset_{0};           // seconds
  std::atomic<bool> refuses_if_match_{false};
  std::atomic<bool> answered_{false};
};

}  // namespace headrace::s3
