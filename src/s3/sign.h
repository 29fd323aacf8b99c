// AWS Signature Version 4 for header-signed and presigned requests.
//
// The path and query that are signed are the bytes that are sent: the caller encodes the path once
// (EncodePath), builds the query once (CanonicalQuery, which is already in canonical order), and
// gives both to the signer and to the wire. So they cannot differ.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "headrace/status.h"
#include "s3/credentials.h"
#include "s3/hmac.h"

namespace headrace::s3 {

inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
// The SHA-256 of nothing, for requests without a body.
inline constexpr std::string_view kEmptyPayloadHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct QueryParam {
  std::string_view name;   // raw bytes
  std::string_view value;  // raw bytes
};

// "a=1&b=x%2Fy": encoded, sorted as SigV4 demands. A name without a value gets its '=' too.
std::string CanonicalQuery(std::span<const QueryParam> params);

struct HeaderView {
  std::string_view name;  // in any case
  std::string_view value;
};

struct SignInput {
  std::string_view method;
  std::string_view host;   // as in the Host header: with its port unless that is the scheme's own
  std::string_view path;   // encoded, starts with '/'
  std::string_view query;  // from CanonicalQuery(); no '?'
  // The headers to sign besides host and the x-amz-* ones the signer adds itself. A header may come
  // more than once.
  std::span<const HeaderView> headers;
  std::string_view payload_hash;  // hex SHA-256 of the body, or UNSIGNED-PAYLOAD, or STREAMING-…
};

struct SignScope {
  std::string_view region;
  std::string_view service = "s3";
};

// The headers to send besides host and those given as input. The views last until the signer's next
// call, or as long as the input.
struct SignedHeaders {
  std::string_view x_amz_date;
  std::string_view x_amz_content_sha256;
  std::string_view x_amz_security_token;  // empty: leave it out
  std::string_view authorization;
};

// Signs requests with the last few signing keys kept. About 2 us a request. Not thread-safe: one
// per loop thread.
class Signer {
 public:
  // Errors: kInvalidArgument for a header that holds CR, LF or NUL; kInternal when OpenSSL fails.
  // REQUIRES: !credentials.anonymous().
  Result<SignedHeaders> Sign(const SignInput& input, const Credentials& credentials,
                             const SignScope& scope, WallTime now);

  // The whole query string of a presigned request, good for `lifetime` (at most 7 days) from `now`.
  // input.payload_hash is not looked at: it is UNSIGNED-PAYLOAD.
  Result<std::string> Presign(const SignInput& input, const Credentials& credentials,
                              const SignScope& scope, WallTime now, std::chrono::seconds lifetime);

  // What the last call computed, for tests and for explaining a SignatureDoesNotMatch.
  const std::string& canonical_request() const { return canonical_request_; }
  const std::string& string_to_sign() const { return string_to_sign_; }
  std::string_view signature() const { return signature_; }

 private:
  struct HeaderRef {
    std::uint32_t name_begin;  // the lower-case name, in names_
    std::uint32_t name_size;
    std::uint32_t order;  // as given: equal names keep their order
    std::string_view value;
  };
  struct CachedKey {
    std::string secret;
    std::string date;
    std::string region;
    std::string service;
    HmacKey key;
  };

  void SetTime(WallTime now);
  void AddHeader(std::string_view name, std::string_view value);
  Status CollectHeaders(const SignInput& input);
  void SortHeaders();
  void BuildCanonicalRequest(const SignInput& input, std::string_view query,
                             std::string_view payload_hash);
  Status ComputeSignature(const Credentials& credentials, const SignScope& scope);
  const HmacKey* SigningKey(const Credentials& credentials, const SignScope& scope);
  std::string_view Name(const HeaderRef& header) const {
    return std::string_view(names_).substr(header.name_begin, header.name_size);
  }

  Sha256 sha_;
  std::vector<CachedKey> keys_;  // the most recently used first
  std::int64_t formatted_second_ = -1;
  std::string date_time_;  // "20130524T000000Z" for formatted_second_
  // Scratch, kept for its capacity.
  std::string names_;
  std::vector<HeaderRef> headers_;
  std::string signed_headers_;  // "host;range;x-amz-date"
  std::string credential_scope_;
  std::string canonical_request_;
  std::string string_to_sign_;
  std::string signature_;
  std::string authorization_;
};

}  // namespace headrace::s3
