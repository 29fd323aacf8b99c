#include <fmt/format.h>

#include "headrace/client.h"
#include "s3/uri.h"

namespace headrace {

Result<Address> ParseAddress(std::string_view uri) {
  Address address;
  if (uri.empty()) {
    return Status(StatusCode::kInvalidArgument,
                  "the address is empty; use s3://bucket/key or a path");
  }
  if (uri.starts_with("file://")) {
    address.scheme = Address::Scheme::kFile;
    address.key = uri.substr(7);
    return address;
  }
  if (uri.starts_with("memory://")) {
    address.scheme = Address::Scheme::kMemory;
    const std::string_view rest = uri.substr(9);
    const std::size_t slash = rest.find('/');
    address.bucket = rest.substr(0, slash);
    if (slash != std::string_view::npos) address.key = rest.substr(slash + 1);
    return address;
  }
  if (uri.starts_with("s3:") && !uri.starts_with("s3://")) {
    // A slip of the finger must not write a local file.
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("'{}' is not an S3 address; write s3://bucket/key, or ./{} for a "
                              "local file of that name",
                              uri, uri));
  }
  const std::size_t scheme_end = uri.find("://");
  if (scheme_end == std::string_view::npos) {
    address.scheme = Address::Scheme::kFile;
    address.key = uri;
    return address;
  }
  Result<s3::ObjectUri> parsed = s3::ParseUri(uri);
  if (!parsed.ok()) return parsed.status();
  address.bucket = std::move(parsed->bucket);
  address.key = std::move(parsed->key);
  return address;
}

std::string FormatAddress(const Address& address) {
  switch (address.scheme) {
    case Address::Scheme::kS3:
      return s3::FormatUri(address.bucket, address.key);
    case Address::Scheme::kFile:
      return address.key;
    case Address::Scheme::kMemory:
      return fmt::format("memory://{}/{}", address.bucket, address.key);
  }
  return "";
}

}  // namespace headrace
