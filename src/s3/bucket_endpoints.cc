#include "s3/bucket_endpoints.h"

#include <fmt/format.h>

#include "net/resolver.h"

namespace headrace::s3 {

std::shared_ptr<const Endpoint> BucketEndpoints::EndpointOf(std::string_view bucket) const {
  std::lock_guard lock(mu_);
  const auto it = moved_.find(bucket);
  return it == moved_.end() ? endpoint_ : it->second;
}

Route BucketEndpoints::For(std::string_view bucket, std::string_view key) const {
  Route route{.endpoint = EndpointOf(bucket)};
  const Endpoint& endpoint = *route.endpoint;
  route.target = endpoint.For(bucket, key);
  route.origin = fmt::format("{}://{}", endpoint.scheme, route.target.host_header);
  route.proxy = ProxyOf(endpoint.scheme, route.target.connect_host);
  route.skip_lookup = !route.proxy.empty() || net::IsIpLiteral(route.target.connect_host);
  return route;
}

std::string BucketEndpoints::ProxyOf(const std::string& scheme, const std::string& host) const {
  std::lock_guard lock(mu_);
  const auto it = proxies_.find(host);
  if (it != proxies_.end()) return it->second;
  return proxies_.emplace(host, net::ProxyFor(scheme, host)).first->second;
}

Status BucketEndpoints::Follow(const std::string& bucket,
                               const std::shared_ptr<const Endpoint>& asked,
                               const ServerAnswer& answer) {
  if (EndpointOf(bucket) != asked) return {};
  Result<Endpoint> moved = asked->Redirected(answer, bucket);
  if (!moved.ok()) return moved.status();
  std::lock_guard lock(mu_);
  moved_.insert_or_assign(bucket, std::make_shared<const Endpoint>(std::move(*moved)));
  return {};
}

}  // namespace headrace::s3
