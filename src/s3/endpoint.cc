#include "s3/endpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <utility>

#include "base/macros.h"
#include "s3/uri.h"

namespace headrace::s3 {
namespace {

struct Partition {
  std::string_view region_prefix;
  std::string_view dns_suffix;
};

// From botocore's partitions.json; the last one has every other region.
constexpr std::array<Partition, 8> kPartitions = {{{"cn-", "amazonaws.com.cn"},
                                                   {"us-iso-", "c2s.ic.gov"},
                                                   {"us-isob-", "sc2s.sgov.gov"},
                                                   {"eu-isoe-", "cloud.adc-e.uk"},
                                                   {"us-isof-", "csp.hci.ic.gov"},
                                                   {"eusc-", "amazonaws.eu"},
                                                   {"us-gov-", "amazonaws.com"},
                                                   {"", "amazonaws.com"}}};

std::string_view DnsSuffix(std::string_view region) {
  for (const Partition& partition : kPartitions) {
    if (region.starts_with(partition.region_prefix)) return partition.dns_suffix;
  }
  return kPartitions.back().dns_suffix;
}

bool IsBelow(std::string_view host, std::string_view domain) {
  return host.size() > domain.size() && host.ends_with(domain) &&
         host[host.size() - domain.size() - 1] == '.';
}

// The part of an AWS name before ".amazonaws.com" and its like; "" for other names.
std::string_view AwsName(std::string_view host) {
  std::string_view name;
  for (const Partition& partition : kPartitions) {
    if (IsBelow(host, partition.dns_suffix)) {
      name = host.substr(0, host.size() - partition.dns_suffix.size() - 1);
      break;
    }
  }
  return name;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

bool IsDnsLabelByte(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

// A bucket name that can stand in front of a host name.
bool IsHostable(std::string_view bucket, bool dots_allowed) {
  if (bucket.size() < 3 || bucket.size() > 63) return false;
  char before = '.';
  for (const char c : bucket) {
    const bool dot = c == '.';
    if (!dot && !IsDnsLabelByte(c)) return false;
    if (dot && (!dots_allowed || before == '.' || before == '-')) return false;
    if (c == '-' && before == '.') return false;
    before = c;
  }
  return before != '.' && before != '-' && !IsAddress(bucket);
}

struct Authority {
  std::string host;
  std::uint16_t port;
};

// "host", "host:port", "[::1]:port".
Result<Authority> ParseAuthority(std::string_view text, bool tls) {
  auto invalid = [text](std::string_view why) {
    return Status(StatusCode::kInvalidArgument, fmt::format("'{}' {}", text, why));
  };
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return invalid("has no ']' after its IPv6 address");
    host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    if (!port.empty() && port.front() != ':') return invalid("has text after its IPv6 address");
    const std::string_view digits = "0123456789abcdefABCDEF:.";
    if (host.find_first_not_of(digits) != std::string_view::npos)
      return invalid("is no IPv6 address");
  } else {
    const std::size_t colon = text.find(':');
    host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon);
    if (host.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") !=
        std::string_view::npos) {
      return invalid("is not the name of a host");
    }
  }
  if (host.empty()) return invalid("has no host");
  unsigned number = tls ? 443 : 80;
  if (port.size() > 1) {
    const char* end = port.data() + port.size();
    const auto [stop, error] = std::from_chars(port.data() + 1, end, number);
    if (error != std::errc() || stop != end || number == 0 || number > 65535) {
      return invalid("has no valid port (1 to 65535)");
    }
  } else if (port.size() == 1) {
    return invalid("has a ':' without a port");
  }
  return Authority{Lower(host), static_cast<std::uint16_t>(number)};
}

}  // namespace

bool IsAddress(std::string_view host) {
  if (host.find(':') != std::string_view::npos) return true;  // IPv6
  const std::size_t dots = static_cast<std::size_t>(std::count(host.begin(), host.end(), '.'));
  return dots == 3 && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool IsLocalOrAddress(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || IsAddress(host);
}

std::string RegionOfAwsHost(std::string_view host) {
  std::string_view name = AwsName(host);
  if (name == "s3" || name.ends_with(".s3")) return "us-east-1";
  const std::size_t dot = name.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
  if (last.starts_with("s3-")) return std::string(last.substr(3));  // the old "s3-eu-west-1"
  if (dot == std::string_view::npos) return {};
  const std::string_view before = name.substr(0, dot);
  const bool is_s3 = before == "s3" || before.ends_with(".s3") || before == "s3.dualstack" ||
                     before.ends_with(".s3.dualstack") || before == "s3-fips" ||
                     before.ends_with(".s3-fips");
  return is_s3 ? std::string(last) : std::string();
}

Endpoint Endpoint::ForAwsRegion(std::string_view region) {
  Endpoint endpoint;
  endpoint.host = fmt::format("s3.{}.{}", region, DnsSuffix(region));
  endpoint.region = region;
  return endpoint;
}

Result<Endpoint> Endpoint::FromUrl(std::string_view url, std::string_view region) {
  auto invalid = [url](std::string_view why) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("endpoint '{}' {}; write http://HOST:PORT or https://HOST", url, why));
  };
  Endpoint endpoint;
  const std::size_t separator = url.find("://");
  if (separator == std::string_view::npos)
    return invalid("does not start with http:// or https://");
  endpoint.scheme = Lower(url.substr(0, separator));
  if (endpoint.scheme != "http" && endpoint.scheme != "https") {
    return invalid("does not start with http:// or https://");
  }
  const std::string_view rest = url.substr(separator + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  std::string_view path = rest.substr(authority.size());
  if (authority.find('@') != std::string_view::npos) {
    return Status(
        StatusCode::kInvalidArgument,
        "the endpoint's URL holds a user name or password; write http://HOST:PORT and give "
        "keys as credentials");
  }
  if (path.find_first_of("?#") != std::string_view::npos) return invalid("has a query or fragment");
  for (const char c : path) {
    if (c <= ' ' || c >= 0x7F) return invalid("has a path with blanks or special characters");
  }
  Result<Authority> parsed = ParseAuthority(authority, endpoint.scheme == "https");
  if (!parsed.ok()) return invalid(parsed.status().message());
  endpoint.host = std::move(parsed->host);
  endpoint.port = parsed->port;
  while (path.ends_with('/')) path.remove_suffix(1);
  endpoint.base_path = path;
  endpoint.region = region.empty() ? RegionOfAwsHost(endpoint.host) : std::string(region);
  return endpoint;
}

bool Endpoint::is_aws() const { return !RegionOfAwsHost(host).empty(); }

std::string Endpoint::Url() const {
  const Target target = For({}, {});
  return fmt::format("{}://{}{}", scheme, target.host_header, base_path);
}

bool Endpoint::BucketInHost(std::string_view bucket) const {
  if (style == AddressingStyle::kPath || IsAddress(host)) return false;
  if (style == AddressingStyle::kAuto && !is_aws()) return false;
  // A certificate for *.s3.amazonaws.com does not cover a name with one more dot.
  return IsHostable(bucket, /*dots_allowed=*/scheme == "http");
}

Target Endpoint::For(std::string_view bucket, std::string_view key) const {
  Target target;
  target.tls = scheme == "https";
  target.port = port;
  target.path.reserve(base_path.size() + bucket.size() + key.size() + 16);
  target.path = base_path;
  if (BucketInHost(bucket)) {
    target.connect_host = fmt::format("{}.{}", bucket, host);
    target.path += '/';
  } else {
    target.connect_host = host;
    target.path += '/';
    AppendEncodedPath(target.path, bucket);
    if (!bucket.empty() && !key.empty()) target.path += '/';
  }
  AppendEncodedPath(target.path, key);
  const bool ipv6 = host.find(':') != std::string::npos;
  target.host_header = ipv6 ? fmt::format("[{}]", host) : target.connect_host;
  if (port != (target.tls ? 443 : 80)) target.host_header += fmt::format(":{}", port);
  return target;
}

namespace {

// What a redirect names: an authority, with its scheme where it is a URL.
struct RedirectTo {
  std::string scheme;  // "" when not said
  std::string host;
  std::uint16_t port = 0;  // 0 when not said
};

Result<RedirectTo> ReadRedirect(std::string_view text, const Endpoint& from) {
  RedirectTo to;
  if (const std::size_t separator = text.find("://"); separator != std::string_view::npos) {
    to.scheme = Lower(text.substr(0, separator));
    if (to.scheme != "http" && to.scheme != "https") {
      return Status(StatusCode::kInvalidArgument, "the redirect's URL is neither http nor https");
    }
    text.remove_prefix(separator + 3);
  }
  const std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  const std::string& scheme = to.scheme.empty() ? from.scheme : to.scheme;
  ASSIGN_OR_RETURN(Authority parsed, ParseAuthority(authority, scheme == "https"));
  to.host = std::move(parsed.host);
  const bool has_port = authority.find(':', authority.starts_with('[') ? authority.find(']') : 0) !=
                        std::string_view::npos;
  to.port = has_port || !to.scheme.empty() ? parsed.port : from.port;
  return to;
}

}  // namespace

Result<Endpoint> Endpoint::Redirected(const ServerAnswer& answer, std::string_view bucket) const {
  const std::string& text = answer.endpoint.empty() ? answer.location : answer.endpoint;
  auto refused = [&](std::string_view why) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} redirects bucket '{}' to {}, {}", Url(), bucket,
                              text.empty() ? answer.region : text, why));
  };
  RedirectTo to;
  // A relative Location names no other place.
  const bool names_host = !text.empty() && !text.starts_with('/');
  if (names_host) {
    Result<RedirectTo> parsed = ReadRedirect(text, *this);
    if (!parsed.ok()) return refused(parsed.status().message());
    to = *std::move(parsed);
    if (!bucket.empty() &&
        IsBelow(to.host, to.host.substr(std::min(to.host.size(), bucket.size() + 1))) &&
        to.host.starts_with(bucket)) {
      to.host.erase(0, bucket.size() + 1);  // the bucket's own name in front
    }
  }
  Endpoint next = *this;
  if (is_aws()) {
    const std::string region = answer.region.empty() ? RegionOfAwsHost(to.host) : answer.region;
    if (region.empty())
      return refused("which is no S3 endpoint of AWS; credentials are not sent there");
    if (DnsSuffix(region) != DnsSuffix(this->region)) {
      return refused(
          "which is in another partition of AWS, for which these credentials do not hold");
    }
    const Endpoint aws = ForAwsRegion(region);
    next.host = aws.host;
    next.region = aws.region;
  } else {
    if (!answer.region.empty()) next.region = answer.region;
    if (names_host) {
      const bool own_domain =
          to.host == host || (!IsLocalOrAddress(host) && IsBelow(to.host, host));
      if (!own_domain)
        return refused("which is outside its own domain; credentials are not sent there");
      if (scheme == "https" && to.scheme == "http") return refused("which is not encrypted");
      next.host = to.host;
      next.port = to.port;
      if (!to.scheme.empty()) next.scheme = to.scheme;
    }
  }
  if (next == *this) return refused("which is where the request went already");
  return next;
}

}  // namespace headrace::s3
