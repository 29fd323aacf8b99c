#include "s3/wire_request.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "base/macros.h"
#include "s3/etag.h"
#include "s3/hmac.h"

namespace headrace::s3 {
namespace {

bool BreaksLine(char c) { return c == '\r' || c == '\n' || c == '\0'; }

// libcurl sends a header as it is given: a line break would end it and smuggle in others.
Status CheckHeaders(const net::Headers& headers) {
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const auto [name, value] = headers[i];
    const auto name_end = std::ranges::find_if(name, BreaksLine);
    if (name_end == name.end() && std::ranges::none_of(value, BreaksLine)) continue;
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("header {} holds a line break or a NUL",
                              std::string_view(name.begin(), name_end)));
  }
  return {};
}

// All headers but those of the signature.
void AddHeaders(const WireAttempt& attempt, const WireOptions& options, net::Headers& out) {
  const S3Request& request = attempt.request;
  for (const auto& [name, value] : request.headers) out.Add(name, value);
  if (options.requester_pays) out.Add("x-amz-request-payer", "requester");
  if (!options.expected_bucket_owner.empty() && !request.bucket.empty()) {
    out.Add("x-amz-expected-bucket-owner", options.expected_bucket_owner);
  }
  if (request.verify_checksum) out.Add("x-amz-checksum-mode", "ENABLED");
  if (request.range) {
    const std::uint64_t begin = request.range->offset;
    out.Add("Range", fmt::format("bytes={}-{}", begin + attempt.received,
                                 begin + request.range->length - 1));
  } else if (attempt.received > 0) {
    out.Add("Range", fmt::format("bytes={}-", attempt.received));
  }
  if (!attempt.if_match.empty()) out.Add("If-Match", QuotedEtag(attempt.if_match));
  out.Add("User-Agent", options.user_agent);
}

Status Sign(const WireAttempt& attempt, const WireOptions& options, Signer& signer,
            net::Request& out) {
  std::vector<HeaderView> to_sign;
  for (std::size_t i = 0; i < out.headers.size(); ++i) {
    const auto [name, value] = out.headers[i];
    if (name.starts_with("x-amz-") || name == "Content-MD5") to_sign.push_back({name, value});
  }
  const Buffer& body = attempt.request.body;
  std::string body_hash;
  std::string_view hash = body.empty() ? kEmptyPayloadHash : kUnsignedPayload;
  if (options.sign_payload && !body.empty()) {
    body_hash = Sha256Hex(body.view());
    hash = body_hash;
  }
  const SignInput input{.method = out.method,
                        .host = attempt.route.target.host_header,
                        .path = attempt.route.target.path,
                        .query = attempt.request.query,
                        .headers = to_sign,
                        .payload_hash = hash};
  ASSIGN_OR_RETURN(const SignedHeaders headers,
                   signer.Sign(input, *attempt.credentials,
                               {.region = attempt.route.endpoint->region}, attempt.time));
  out.headers.Add("x-amz-date", headers.x_amz_date);
  out.headers.Add("x-amz-content-sha256", headers.x_amz_content_sha256);
  if (!headers.x_amz_security_token.empty()) {
    out.headers.Add("x-amz-security-token", headers.x_amz_security_token);
  }
  out.headers.Add("Authorization", headers.authorization);
  return {};
}

}  // namespace

Result<net::Request> BuildWireRequest(const WireAttempt& attempt, const WireOptions& options,
                                      Signer& signer) {
  const S3Request& request = attempt.request;
  net::Request out;
  out.method = FactsOf(request.operation).method;
  out.url = fmt::format("{}{}{}{}", attempt.route.origin, attempt.route.target.path,
                        request.query.empty() ? "" : "?", request.query);
  out.body = request.body;
  if (request.range) out.expected_body = request.range->length - attempt.received;
  AddHeaders(attempt, options, out.headers);
  if (attempt.credentials != nullptr && !attempt.credentials->anonymous()) {
    RETURN_IF_ERROR(Sign(attempt, options, signer, out));
  }
  RETURN_IF_ERROR(CheckHeaders(out.headers));
  return out;
}

}  // namespace headrace::s3
