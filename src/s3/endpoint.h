// Where requests for a bucket go: scheme, host, path and signing region. Pure; endpoint_config.h
// decides which endpoint from the environment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/status.h"
#include "s3/error.h"

namespace headrace::s3 {

// Where the bucket's name stands: in the path (host/bucket/key) or in the host (bucket.host/key).
enum class AddressingStyle : std::uint8_t {
  kAuto,     // in the host for AWS's own names, in the path for all other endpoints
  kPath,     // always in the path
  kVirtual,  // in the host wherever the bucket's name can stand in one
};

// What one request is sent to and signed with.
struct Target {
  std::string host_header;  // "bucket.s3.eu-west-1.amazonaws.com", with the port unless it is usual
  std::string connect_host;  // a name or an address, without brackets
  std::uint16_t port = 0;
  bool tls = true;
  std::string path;  // encoded; starts with '/'
};

struct Endpoint {
  std::string scheme = "https";  // or "http"
  std::string host;              // lower case; IPv6 addresses without brackets
  std::uint16_t port = 443;
  std::string base_path;  // "/gw", or "" for none; without a slash at its end
  std::string region;     // to sign for
  AddressingStyle style = AddressingStyle::kAuto;

  bool operator==(const Endpoint&) const = default;

  // AWS's endpoint of a region, in that region's partition.
  static Endpoint ForAwsRegion(std::string_view region);
  // From a URL such as "http://127.0.0.1:9000/gw/". Slashes at the end make no difference; a path
  // is kept in every request and signature. For an AWS name without `region`, the region follows
  // from the name. kInvalidArgument, saying what to write, for anything that is not such a URL.
  static Result<Endpoint> FromUrl(std::string_view url, std::string_view region);

  // Whether this is a name of Amazon's.
  bool is_aws() const;
  // "http://127.0.0.1:9000/gw", for messages.
  std::string Url() const;

  // The target for a key; for the bucket itself with an empty key; for the service with both empty.
  Target For(std::string_view bucket, std::string_view key) const;

  // The endpoint that a redirect of a request for `bucket` leads to. The redirect must stay with
  // the credentials' own domain: within AWS's partition, or at the same host or one below it (for
  // an address or localhost: the same host), and never from https to http. kInvalidArgument, saying
  // so, for any other, and for one that leads nowhere new.
  Result<Endpoint> Redirected(const ServerAnswer& answer, std::string_view bucket) const;

 private:
  bool BucketInHost(std::string_view bucket) const;
};

bool IsAddress(std::string_view host);  // IPv4, or IPv6 without brackets
// An address, or a name of this machine.
bool IsLocalOrAddress(std::string_view host);

// The region in an AWS S3 host name ("b.s3.eu-west-1.amazonaws.com", "s3-eu-west-1.amazonaws.com",
// "s3.amazonaws.com" for us-east-1), "" for any other name.
std::string RegionOfAwsHost(std::string_view host);

}  // namespace headrace::s3
