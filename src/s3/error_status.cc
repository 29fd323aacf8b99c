// The words of a final error: what failed, where, and what to do.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <string>

#include "s3/error.h"
#include "s3/uri.h"

namespace headrace::s3 {
namespace {

constexpr std::size_t kMaxServerMessage = 300;

// The code and the text of a final error.
struct Verdict {
  StatusCode code;
  std::string text;
};

// One line, of a bounded length, whatever the server sent.
std::string CleanServerMessage(std::string_view message) {
  std::string clean(message.substr(0, kMaxServerMessage));
  std::replace_if(
      clean.begin(), clean.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  if (message.size() > kMaxServerMessage) clean += "…";
  while (!clean.empty() && (clean.back() == '.' || clean.back() == ' ')) clean.pop_back();
  return clean;
}

// A word for a shell.
std::string ShellQuoted(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

Verdict Credential(const ServerAnswer& answer, ErrorClass error_class,
                   std::string_view server_said) {
  const std::string_view code = answer.code;
  if (code == "InvalidAccessKeyId") {
    return {StatusCode::kCredentials,
            "the server does not know this access key id; check which credentials are in use "
            "(AWS_PROFILE, AWS_ACCESS_KEY_ID) and that they belong to this endpoint"};
  }
  if (code == "SignatureDoesNotMatch") {
    return {StatusCode::kCredentials,
            "the signature does not match; the secret access key is wrong, or a proxy on the way "
            "changes the request"};
  }
  if (error_class == ErrorClass::kClockSkew) {
    return {StatusCode::kCredentials,
            fmt::format("this machine's clock differs from the server's by {} s and correcting for "
                        "it did not help; set the clock (NTP)",
                        std::abs(answer.clock_offset.count()))};
  }
  return {
      StatusCode::kCredentials,
      fmt::format("the credentials expired and no newer ones could be had ({}); renew them (for "
                  "SSO or assumed roles: log in again)",
                  server_said)};
}

Verdict Refused(const RequestFacts& facts, const std::string& uri, std::string_view server_said) {
  if (facts.anonymous) {
    return {StatusCode::kAccessDenied,
            fmt::format("access to {} denied to unsigned requests; give credentials", uri)};
  }
  return {StatusCode::kAccessDenied,
          fmt::format(
              "access to {} denied{}{}; check that these credentials {}may {} it (bucket policy, "
              "IAM policy, key policy of an encrypted object)",
              uri, server_said.empty() ? "" : ": ", server_said,
              // An answer without a body (HEAD) tells a wrong key no differently.
              server_said.empty() ? "are right and " : "",
              facts.action.empty() ? "use" : facts.action)};
}

Verdict NotFound(const ServerAnswer& answer, const RequestFacts& facts, const std::string& uri) {
  if (answer.code == "NoSuchBucket") {
    return {StatusCode::kNotFound,
            fmt::format("no such bucket '{}' at {}; check its name and the endpoint", facts.bucket,
                        facts.endpoint)};
  }
  if (answer.code == "NoSuchUpload") {
    return {
        StatusCode::kNotFound,
        fmt::format("the multipart upload of {} is gone: it was aborted or completed by someone "
                    "else, or by a lifecycle rule; write the object again",
                    uri)};
  }
  if (facts.key.empty()) {
    return {StatusCode::kNotFound, fmt::format("no such bucket '{}' at {}; check its name and the "
                                               "endpoint",
                                               facts.bucket, facts.endpoint)};
  }
  // HEAD does not say whether the bucket or the key is missing.
  return {StatusCode::kNotFound, fmt::format("no such object {}", uri)};
}

Verdict Redirected(const ServerAnswer& answer, const RequestFacts& facts) {
  if (!answer.region.empty() && answer.region != facts.region) {
    return {
        StatusCode::kInvalidArgument,
        fmt::format("bucket '{}' is in region {}, not {}; set AWS_REGION={} or the region option",
                    facts.bucket, answer.region, facts.region, answer.region)};
  }
  const std::string& target = answer.endpoint.empty() ? answer.location : answer.endpoint;
  return {StatusCode::kInvalidArgument,
          fmt::format(
              "{} sends requests for bucket '{}' elsewhere{}{}; set the endpoint or region that "
              "serves it",
              facts.endpoint, facts.bucket, target.empty() ? "" : ": ", target)};
}

Verdict Conditional(const RequestFacts& facts, const std::string& uri, std::string_view said) {
  if (facts.if_none_match)
    return {StatusCode::kAlreadyExists, fmt::format("{} exists already", uri)};
  if (facts.if_match) {
    return {StatusCode::kObjectChanged,
            fmt::format(
                "{} was replaced while it was in use, or since it was listed; open it again, or "
                "list again, for the new version",
                uri)};
  }
  return {StatusCode::kInvalidArgument,
          fmt::format("{}: a condition of the request does not hold: {}", uri, said)};
}

// The codes that have a cure of their own.
std::optional<Verdict> JudgeByCode(const ServerAnswer& answer, const RequestFacts& facts,
                                   const std::string& uri, std::string_view said) {
  const std::string_view code = answer.code;
  if (code == "InvalidObjectState") {
    return Verdict{
        StatusCode::kArchived,
        fmt::format("{} is archived and must be restored before it can be read, for example: aws "
                    "s3api restore-object --bucket {} --key {} --restore-request Days=7",
                    uri, facts.bucket, ShellQuoted(facts.key))};
  }
  if (code == "EntityTooSmall") {
    return Verdict{
        StatusCode::kInvalidArgument,
        fmt::format("{}: a part but the last is smaller than the server allows (5 MiB on "
                    "S3); raise part_size",
                    uri)};
  }
  if (code == "EntityTooLarge") {
    return Verdict{
        StatusCode::kInvalidArgument,
        fmt::format("{}: too large for one request (5 GiB on S3); lower multipart_threshold", uri)};
  }
  if (code == "InvalidPart" || code == "InvalidPartOrder") {
    return Verdict{
        StatusCode::kUnsupported,
        fmt::format("{}: the server refused to join the parts: {}. Some servers "
                    "(Cloudflare R2) demand parts of one size: give expected_size, so that "
                    "one size is chosen",
                    uri, said)};
  }
  if (code == "BadDigest" || code == "XAmzContentChecksumMismatch" || code == "InvalidDigest" ||
      code == "XAmzContentSHA256Mismatch") {
    return Verdict{
        StatusCode::kChecksumMismatch,
        fmt::format("{}: the server received other bytes than were sent: {}", uri, said)};
  }
  if (code == "BucketAlreadyExists" || code == "BucketAlreadyOwnedByYou") {
    return Verdict{StatusCode::kAlreadyExists,
                   fmt::format("bucket '{}' exists already", facts.bucket)};
  }
  if (code == "QuotaExceeded" || code == "XMinioStorageFull") {
    return Verdict{StatusCode::kNoSpace, fmt::format("{}: the server is full: {}", uri, said)};
  }
  return std::nullopt;
}

Verdict JudgeByStatus(const ServerAnswer& answer, const RequestFacts& facts, const std::string& uri,
                      std::string_view said, ErrorClass error_class) {
  const int status = answer.http_status;
  switch (status) {
    case 403:
      return Refused(facts, uri, answer.message.empty() ? "" : said);
    case 404:
      return NotFound(answer, facts, uri);
    case 412:
      return Conditional(facts, uri, said);
    case 416:
      return {StatusCode::kInvalidArgument, fmt::format("the range lies past the end of {}", uri)};
    case 405:
    case 501:
      return {StatusCode::kUnsupported, fmt::format("{} cannot do this: {}", facts.endpoint, said)};
    case 507:
      return {StatusCode::kNoSpace, fmt::format("{}: the server is full: {}", uri, said)};
    default:
      break;
  }
  if (status >= 500 || error_class == ErrorClass::kTransient) {
    return {StatusCode::kServerError, fmt::format("{}: the server failed: {}", uri, said)};
  }
  if (status >= 400) {
    return {StatusCode::kInvalidArgument,
            fmt::format("{}: the server refused the request: {}", uri, said)};
  }
  return {StatusCode::kProtocol, fmt::format("{}: unexpected answer {}; is {} an S3 endpoint?", uri,
                                             said, facts.endpoint)};
}

Verdict Judge(const ServerAnswer& answer, const RequestFacts& facts) {
  const ErrorClass error_class = Classify(answer, facts);
  const std::string uri = FormatUri(facts.bucket, facts.key);
  std::string said = CleanServerMessage(answer.message);
  if (said.empty()) said = answer.code;
  if (said.empty()) said = fmt::format("HTTP {}", answer.http_status);

  const bool about_credentials =
      error_class == ErrorClass::kAuthRefresh || error_class == ErrorClass::kClockSkew ||
      answer.code == "InvalidAccessKeyId" || answer.code == "SignatureDoesNotMatch" ||
      answer.code == "InvalidToken";
  if (about_credentials) {
    Verdict verdict = Credential(answer, error_class, said);
    verdict.text = fmt::format("{}: {}", uri, verdict.text);
    return verdict;
  }
  if (std::optional<Verdict> verdict = JudgeByCode(answer, facts, uri, said)) return *verdict;
  if (error_class == ErrorClass::kRedirect) return Redirected(answer, facts);
  if (error_class == ErrorClass::kThrottle) {
    return {
        StatusCode::kThrottled,
        fmt::format("{}: the service asks for fewer requests ({}); lower max_in_flight or spread "
                    "the keys over more prefixes",
                    uri, said)};
  }
  return JudgeByStatus(answer, facts, uri, said, error_class);
}

}  // namespace

Status ToStatus(const ServerAnswer& answer, const RequestFacts& facts) {
  Verdict verdict = Judge(answer, facts);
  return Status(verdict.code, std::move(verdict.text),
                {.http_status = answer.http_status,
                 .s3_code = answer.code,
                 .request_id = answer.request_id,
                 .bucket = std::string(facts.bucket),
                 .key = std::string(facts.key)});
}

}  // namespace headrace::s3
