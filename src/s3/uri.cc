#include "s3/uri.h"

#include <array>
#include <fmt/format.h>

namespace headrace::s3 {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr std::size_t kMaxBucketName = 255;

constexpr bool IsAlphanumeric(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

constexpr bool IsUnreserved(unsigned char c) {
  return IsAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

constexpr std::array<bool, 256> MakeKeptTable(bool keep_slash) {
  std::array<bool, 256> kept{};
  for (int c = 0; c < 256; ++c) {
    kept[c] = IsUnreserved(static_cast<unsigned char>(c)) || (keep_slash && c == '/');
  }
  return kept;
}

constexpr std::array<bool, 256> kKeptInPath = MakeKeptTable(true);
constexpr std::array<bool, 256> kKeptInQuery = MakeKeptTable(false);

void AppendEncoded(std::string& out, std::string_view bytes, const std::array<bool, 256>& kept) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::size_t run = 0;  // start of the kept bytes not yet copied
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (kept[c]) continue;
    out.append(bytes, run, i - run);
    const char escape[3] = {'%', kHex[c >> 4], kHex[c & 15]};
    out.append(escape, 3);
    run = i + 1;
  }
  out.append(bytes, run, bytes.size() - run);
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A byte as a message can show it: 'a' or byte 0x01.
std::string Quoted(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7F ? fmt::format("'{}'", c) : fmt::format("byte 0x{:02x}", byte);
}

}  // namespace

Status ValidateBucketName(std::string_view bucket) {
  if (bucket.empty()) {
    return Status(StatusCode::kInvalidArgument, "the bucket name is empty; write s3://bucket/key");
  }
  if (bucket.starts_with("arn:")) {
    return Status(
        StatusCode::kUnsupported,
        fmt::format("{} is an ARN; give the bucket's name or the access point's alias", bucket));
  }
  if (bucket.size() > kMaxBucketName) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("the bucket name has {} letters; {} are the most (63 for new buckets)",
                    bucket.size(), kMaxBucketName));
  }
  for (const char c : bucket) {
    if (IsAlphanumeric(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_') continue;
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("bucket name '{}' holds {}; only letters, digits, '.', '-' and '_' "
                              "can stand in one",
                              bucket, Quoted(c)));
  }
  if (bucket == "." || bucket == "..") {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("'{}' cannot be the name of a bucket", bucket));
  }
  return {};
}

Result<ObjectUri> ParseUri(std::string_view uri) {
  if (!uri.starts_with(kScheme)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("'{}' is not an S3 address; write s3://bucket/key", uri));
  }
  const std::string_view rest = uri.substr(kScheme.size());
  const std::size_t slash = rest.find('/');
  const std::string_view bucket = rest.substr(0, slash);
  if (Status status = ValidateBucketName(bucket); !status.ok()) {
    return status.WithContext(fmt::format("'{}'", uri));
  }
  ObjectUri parsed{std::string(bucket), {}};
  if (slash != std::string_view::npos) parsed.key = rest.substr(slash + 1);
  return parsed;
}

std::string FormatUri(std::string_view bucket, std::string_view key) {
  std::string uri;
  uri.reserve(kScheme.size() + bucket.size() + 1 + key.size());
  uri += kScheme;
  uri += bucket;
  if (!key.empty()) {
    uri += '/';
    uri += key;
  }
  return uri;
}

void AppendEncodedPath(std::string& out, std::string_view bytes) {
  AppendEncoded(out, bytes, kKeptInPath);
}

void AppendEncodedQuery(std::string& out, std::string_view bytes) {
  AppendEncoded(out, bytes, kKeptInQuery);
}

std::string EncodePath(std::string_view bytes) {
  std::string out;
  AppendEncodedPath(out, bytes);
  return out;
}

std::string EncodeQuery(std::string_view bytes) {
  std::string out;
  AppendEncodedQuery(out, bytes);
  return out;
}

std::size_t DecodeListedInPlace(char* text, std::size_t size) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < size; ++i) {
    char c = text[i];
    if (c == '+') {
      c = ' ';
    } else if (c == '%' && i + 2 < size) {
      const int high = HexValue(text[i + 1]);
      const int low = HexValue(text[i + 2]);
      if (high >= 0 && low >= 0) {
        c = static_cast<char>(high * 16 + low);
        i += 2;
      }
    }
    text[end++] = c;
  }
  return end;
}

}  // namespace headrace::s3
