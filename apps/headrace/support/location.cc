#include "support/location.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/macros.h"
#include "headrace/client.h"

namespace headrace::cli {

std::string Location::Text() const {
  switch (kind) {
    case Kind::kS3:
      return FormatAddress({Address::Scheme::kS3, bucket, key});
    case Kind::kStream:
      return "-";
    case Kind::kLocal:
      break;
  }
  return path;
}

Result<Location> ParseLocation(std::string_view argument) {
  if (argument == "-") return Location{.kind = Location::Kind::kStream};
  ASSIGN_OR_RETURN(Address address, ParseAddress(argument));
  switch (address.scheme) {
    case Address::Scheme::kS3:
      return Location{.kind = Location::Kind::kS3,
                      .bucket = std::move(address.bucket),
                      .key = std::move(address.key)};
    case Address::Scheme::kFile:
      return Location{.kind = Location::Kind::kLocal, .path = std::move(address.key)};
    case Address::Scheme::kMemory:
      break;
  }
  return Status(StatusCode::kInvalidArgument,
                fmt::format("'{}': memory:// holds nothing between two commands", argument));
}

Result<Location> ParseS3(std::string_view argument) {
  ASSIGN_OR_RETURN(Location location, ParseLocation(argument));
  if (!location.is_s3()) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("'{}' is not an S3 address; write s3://bucket/key", argument));
  }
  return location;
}

bool IsBucketName(std::string_view name) {
  auto alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return name.size() >= 3 && name.size() <= 63 && alnum(name.front()) && alnum(name.back()) &&
         name.find("..") == std::string_view::npos &&
         std::ranges::all_of(name, [&](char c) { return alnum(c) || c == '.' || c == '-'; });
}

std::string_view Basename(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace headrace::cli
