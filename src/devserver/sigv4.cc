#include "devserver/sigv4.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "base/macros.h"
#include "devserver/digest.h"
#include "devserver/errors.h"
#include "devserver/sigv2.h"
#include "devserver/text.h"

namespace headrace::devserver {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::int64_t kMaxPresignedSeconds = 604800;  // a week

// Runs of spaces inside a value count as one.
void AppendCollapsed(std::string& out, std::string_view value) {
  bool space = false;
  for (char c : value) {
    if (c == ' ' && space) continue;
    space = c == ' ';
    out += c;
  }
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text = text.substr(end + 1);
  }
}

// Comparison time must not tell how much of a signature was right; even a test server keeps to
// that.
bool SameSignature(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return difference == 0;
}

Status UnsupportedMechanism() {
  return S3Error("InvalidRequest",
                 "The authorization mechanism you have provided is not supported. Please use "
                 "AWS4-HMAC-SHA256.");
}

Status ReadPayloadMode(std::string_view header, AuthInfo* auth) {
  if (header.empty() || header == "UNSIGNED-PAYLOAD") {
    auth->payload = PayloadMode::kUnsigned;
  } else if (header == "STREAMING-UNSIGNED-PAYLOAD-TRAILER") {
    auth->payload = PayloadMode::kStreamingUnsigned;
  } else if (header == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD") {
    auth->payload = PayloadMode::kStreamingSigned;
  } else if (header == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER") {
    auth->payload = PayloadMode::kStreamingSignedTrailer;
  } else if (header.size() == 64 &&
             header.find_first_not_of("0123456789abcdef") == std::string_view::npos) {
    auth->payload = PayloadMode::kSha256;
    auth->payload_sha256 = std::string(header);
  } else {
    return S3Error("InvalidArgument",
                   "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, a STREAMING-* value known here, "
                   "or a valid sha256 value.");
  }
  return Status();
}

}  // namespace

std::string CanonicalRequest(const RequestHead& head, const QueryParams& query,
                             const std::vector<std::string_view>& signed_headers,
                             std::string_view payload_hash) {
  std::string out;
  out.reserve(1024);
  out += head.method();
  out += '\n';
  // What was signed is the encoding of the path's bytes, however the client spelled them.
  out += UriEncode(UriDecode(head.path(), false).value_or(std::string(head.path())), true);
  out += '\n';
  std::vector<std::pair<std::string, std::string>> params;
  for (const auto& [name, value] : query.all()) {
    if (name == "X-Amz-Signature") continue;
    params.emplace_back(UriEncode(name, false), UriEncode(value, false));
  }
  std::sort(params.begin(), params.end());
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (i > 0) out += '&';
    out += params[i].first;
    out += '=';
    out += params[i].second;
  }
  out += '\n';
  for (std::string_view name : signed_headers) {
    out += name;
    out += ':';
    bool first = true;
    for (const auto& [header, value] : head.headers()) {
      if (header != name) continue;
      if (!first) out += ',';
      first = false;
      AppendCollapsed(out, value);
    }
    out += '\n';
  }
  out += '\n';
  for (std::size_t i = 0; i < signed_headers.size(); ++i) {
    if (i > 0) out += ';';
    out += signed_headers[i];
  }
  out += '\n';
  out += payload_hash;
  return out;
}

std::string StringToSign(std::string_view amz_date, std::string_view scope,
                         std::string_view canonical_request) {
  std::string out;
  out.reserve(160);
  out += kAlgorithm;
  out += '\n';
  out += amz_date;
  out += '\n';
  out += scope;
  out += '\n';
  out += HexEncode(Sha256(canonical_request));
  return out;
}

std::string DeriveSigningKey(std::string_view secret_key, std::string_view date,
                             std::string_view region, std::string_view service) {
  std::string key = HmacSha256(fmt::format("AWS4{}", secret_key), date);
  key = HmacSha256(key, region);
  key = HmacSha256(key, service);
  return HmacSha256(key, "aws4_request");
}

// What a request says about its own signature.
struct Authenticator::Claim {
  bool from_query = false;
  std::string_view access_key;
  std::string_view date;  // of the scope
  std::string_view region;
  std::string_view service;
  std::string_view terminator;
  std::string_view scope;
  std::string_view amz_date;
  std::vector<std::string_view> signed_headers;
  std::string_view signature;

  bool SetCredential(std::string_view credential) {
    // Access keys may hold slashes: the scope is the last four parts.
    std::vector<std::string_view> parts = Split(credential, '/');
    if (parts.size() < 5) return false;
    std::size_t n = parts.size();
    date = parts[n - 4];
    region = parts[n - 3];
    service = parts[n - 2];
    terminator = parts[n - 1];
    access_key = credential.substr(0, date.data() - credential.data() - 1);
    scope = credential.substr(access_key.size() + 1);
    return true;
  }
};

Authenticator::Authenticator(Options options) : options_(std::move(options)) {}

Status Authenticator::ReadHeaderClaim(const RequestHead& head, Claim* claim) const {
  constexpr std::string_view kCode = "AuthorizationHeaderMalformed";
  std::string_view rest = head.Header("authorization");
  if (!rest.starts_with(kAlgorithm)) {
    return UnsupportedMechanism();
  }
  rest.remove_prefix(kAlgorithm.size());
  for (std::string_view part : Split(rest, ',')) {
    part = Trim(part);
    if (part.starts_with("Credential=")) {
      if (!claim->SetCredential(part.substr(11))) {
        return S3Error(kCode, "The Credential is not KEY/DATE/REGION/s3/aws4_request.");
      }
    } else if (part.starts_with("SignedHeaders=")) {
      claim->signed_headers = Split(part.substr(14), ';');
    } else if (part.starts_with("Signature=")) {
      claim->signature = part.substr(10);
    }
  }
  if (claim->scope.empty() || claim->signed_headers.empty() || claim->signature.empty()) {
    return S3Error(kCode, "Credential, SignedHeaders or Signature is missing.");
  }
  claim->amz_date = head.Header("x-amz-date");
  return Status();
}

Status Authenticator::ReadQueryClaim(const QueryParams& query, std::int64_t now,
                                     Claim* claim) const {
  constexpr std::string_view kCode = "AuthorizationQueryParametersError";
  claim->from_query = true;
  if (query.Get("X-Amz-Algorithm") != kAlgorithm) {
    return S3Error(kCode, "X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\"");
  }
  if (!claim->SetCredential(query.Get("X-Amz-Credential"))) {
    return S3Error(kCode, "X-Amz-Credential is not KEY/DATE/REGION/s3/aws4_request.");
  }
  claim->signed_headers = Split(query.Get("X-Amz-SignedHeaders"), ';');
  claim->signature = query.Get("X-Amz-Signature");
  claim->amz_date = query.Get("X-Amz-Date");
  auto signed_at = ParseAmzDate(claim->amz_date);
  auto expires = ParseUint(query.Get("X-Amz-Expires"));
  if (claim->signature.empty() || !signed_at || !expires) {
    return S3Error(kCode, "X-Amz-Signature, X-Amz-Date or X-Amz-Expires is missing or malformed.");
  }
  if (static_cast<std::int64_t>(*expires) > kMaxPresignedSeconds) {
    return S3Error(kCode, "X-Amz-Expires must be less than a week (in seconds).");
  }
  if (now > *signed_at + static_cast<std::int64_t>(*expires)) {
    return S3Error("AccessDenied", "Request has expired");
  }
  if (*signed_at > now + options_.max_skew_seconds) {
    return S3Error("AccessDenied", "Request is not yet valid");
  }
  return Status();
}

Status Authenticator::CheckScope(const Claim& claim, std::string_view malformed_code) const {
  if (claim.region != options_.region) {
    return S3Error(malformed_code,
                   fmt::format("The authorization header is malformed; the region '{}' is wrong; "
                               "expecting '{}'",
                               claim.region, options_.region));
  }
  if (claim.service != "s3" || claim.terminator != "aws4_request") {
    return S3Error(malformed_code, "The credential's scope must end in s3/aws4_request.");
  }
  if (!ParseAmzDate(claim.amz_date) || claim.amz_date.substr(0, 8) != claim.date) {
    return S3Error(malformed_code, "The credential's date is not that of the request.");
  }
  return Status();
}

std::string Authenticator::SigningKey(std::string_view date) {
  std::lock_guard lock(mutex_);
  auto found = keys_by_date_.find(date);
  if (found != keys_by_date_.end()) return found->second;
  if (keys_by_date_.size() > 64) keys_by_date_.clear();  // dates are the caller's to choose
  std::string key = DeriveSigningKey(options_.secret_key, date, options_.region, "s3");
  return keys_by_date_.emplace(std::string(date), std::move(key)).first->second;
}

Result<AuthInfo> Authenticator::CheckVersion2(const RequestHead& head, const QueryParams& query,
                                              std::int64_t now) const {
  if (query.Get("AWSAccessKeyId") != options_.access_key) return S3Error("InvalidAccessKeyId");
  auto expires = ParseUint(query.Get("Expires"));
  if (!expires) return S3Error("AccessDenied", "Query-string authentication requires Expires.");
  if (now > static_cast<std::int64_t>(*expires)) {
    return S3Error("AccessDenied", "Request has expired");
  }
  std::string expected = SignatureV2(options_.secret_key, StringToSignV2(head, query));
  if (!SameSignature(expected, query.Get("Signature"))) return S3Error("SignatureDoesNotMatch");
  AuthInfo auth;
  auth.anonymous = false;
  auth.access_key = options_.access_key;
  RETURN_IF_ERROR(ReadPayloadMode(head.Header("x-amz-content-sha256"), &auth));
  return auth;
}

Result<AuthInfo> Authenticator::Check(const RequestHead& head, const QueryParams& query,
                                      std::int64_t now) {
  AuthInfo auth;
  Claim claim;
  std::string_view content_sha256 = head.Header("x-amz-content-sha256");
  if (query.Has("X-Amz-Signature") || query.Has("X-Amz-Algorithm")) {
    RETURN_IF_ERROR(ReadQueryClaim(query, now, &claim));
  } else if (query.Has("AWSAccessKeyId")) {
    return CheckVersion2(head, query, now);
  } else if (head.HasHeader("authorization")) {
    RETURN_IF_ERROR(ReadHeaderClaim(head, &claim));
  } else {
    RETURN_IF_ERROR(ReadPayloadMode(content_sha256, &auth));
    return auth;
  }
  RETURN_IF_ERROR(CheckScope(claim, claim.from_query ? "AuthorizationQueryParametersError"
                                                     : "AuthorizationHeaderMalformed"));
  if (claim.access_key != options_.access_key) return S3Error("InvalidAccessKeyId");
  if (!claim.from_query) {
    if (content_sha256.empty()) {
      return S3Error("InvalidRequest",
                     "Missing required header for this request: x-amz-content-sha256");
    }
    std::int64_t signed_at = *ParseAmzDate(claim.amz_date);
    if (std::abs(signed_at - now) > options_.max_skew_seconds) {
      return S3Error("RequestTimeTooSkewed");
    }
  }
  if (std::find(claim.signed_headers.begin(), claim.signed_headers.end(), "host") ==
      claim.signed_headers.end()) {
    return S3Error("AccessDenied",
                   "There were headers present in the request which were not signed: host");
  }
  for (const auto& [name, value] : head.headers()) {
    if (name.starts_with("x-amz-") && name != "x-amz-content-sha256" &&
        std::find(claim.signed_headers.begin(), claim.signed_headers.end(), name) ==
            claim.signed_headers.end()) {
      return S3Error("AccessDenied",
                     fmt::format("There were headers present in the request which were not "
                                 "signed: {}",
                                 name));
    }
  }
  RETURN_IF_ERROR(ReadPayloadMode(content_sha256, &auth));

  std::string_view payload_hash = content_sha256.empty() ? "UNSIGNED-PAYLOAD" : content_sha256;
  std::string canonical = CanonicalRequest(head, query, claim.signed_headers, payload_hash);
  std::string to_sign = StringToSign(claim.amz_date, claim.scope, canonical);
  auth.signing_key = SigningKey(claim.date);
  std::string expected = HexEncode(HmacSha256(auth.signing_key, to_sign));
  if (!SameSignature(expected, claim.signature)) return S3Error("SignatureDoesNotMatch");

  auth.anonymous = false;
  auth.access_key = std::string(claim.access_key);
  auth.amz_date = std::string(claim.amz_date);
  auth.scope = std::string(claim.scope);
  auth.seed_signature = std::move(expected);
  return auth;
}

ChunkVerifier::ChunkVerifier(const AuthInfo& auth)
    : signing_key_(auth.signing_key),
      prefix_(fmt::format("{}\n{}\n", auth.amz_date, auth.scope)),
      previous_signature_(auth.seed_signature) {}

Status ChunkVerifier::CheckChunk(std::string_view sha256, std::string_view signature) {
  std::string to_sign = fmt::format("AWS4-HMAC-SHA256-PAYLOAD\n{}{}\n{}\n{}", prefix_,
                                    previous_signature_, kEmptySha256Hex, HexEncode(sha256));
  std::string expected = HexEncode(HmacSha256(signing_key_, to_sign));
  if (!SameSignature(expected, signature)) return S3Error("SignatureDoesNotMatch");
  previous_signature_ = std::move(expected);
  return Status();
}

Status ChunkVerifier::CheckTrailer(std::string_view trailers, std::string_view signature) {
  std::string to_sign = fmt::format("AWS4-HMAC-SHA256-TRAILER\n{}{}\n{}", prefix_,
                                    previous_signature_, HexEncode(Sha256(trailers)));
  if (!SameSignature(HexEncode(HmacSha256(signing_key_, to_sign)), signature)) {
    return S3Error("SignatureDoesNotMatch");
  }
  return Status();
}

}  // namespace headrace::devserver
