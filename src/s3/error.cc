#include "s3/error.h"

#include <algorithm>
#include <array>
namespace headrace::s3 {
namespace {

// S3 refuses a signature whose time is more than 15 minutes off; below a few minutes a 403 without
// a body has some other cause.
constexpr std::chrono::seconds kNoticeableSkew = std::chrono::minutes(5);

template <std::size_t N>
bool IsOneOf(std::string_view code, const std::array<std::string_view, N>& codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

constexpr std::array<std::string_view, 9> kThrottleCodes = {"SlowDown",
                                                            "Throttling",
                                                            "ThrottlingException",
                                                            "ThrottledException",
                                                            "RequestThrottled",
                                                            "RequestThrottledException",
                                                            "TooManyRequests",
                                                            "TooManyRequestsException",
                                                            "RequestLimitExceeded"};
// The digests are here because a mismatch means that bytes changed on the way.
constexpr std::array<std::string_view, 12> kTransientCodes = {"InternalError",
                                                              "InternalFailure",
                                                              "InternalServerError",
                                                              "RequestTimeout",
                                                              "RequestTimeoutException",
                                                              "ServiceUnavailable",
                                                              "OperationAborted",
                                                              "ConditionalRequestConflict",
                                                              "IncompleteBody",
                                                              "BadDigest",
                                                              "XAmzContentChecksumMismatch",
                                                              "IDPCommunicationError"};
constexpr std::array<std::string_view, 5> kExpiredCodes = {"ExpiredToken", "ExpiredTokenException",
                                                           "TokenRefreshRequired", "RequestExpired",
                                                           "CredentialsExpired"};
constexpr std::array<std::string_view, 2> kSkewCodes = {"RequestTimeTooSkewed",
                                                        "RequestInTheFuture"};
constexpr std::array<std::string_view, 3> kRedirectCodes = {"PermanentRedirect",
                                                            "TemporaryRedirect", "Redirect"};

bool NamesAnotherRegion(const ServerAnswer& answer, const RequestFacts& facts) {
  return !answer.region.empty() && answer.region != facts.region;
}

bool SkewIsNoticeable(const ServerAnswer& answer) {
  return answer.signing_offset > kNoticeableSkew || answer.signing_offset < -kNoticeableSkew;
}

}  // namespace

std::string_view ErrorClassName(ErrorClass error_class) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "none", "throttle", "transient", "auth-refresh", "clock-skew", "redirect", "fatal"};
  return kNames.at(static_cast<std::size_t>(error_class));
}

ErrorClass Classify(const ServerAnswer& answer, const RequestFacts& facts) {
  const int status = answer.http_status;
  const std::string_view code = answer.code;
  if (status >= 200 && status < 300 && code.empty()) return ErrorClass::kNone;
  if (IsOneOf(code, kThrottleCodes) || status == 429) return ErrorClass::kThrottle;
  if (IsOneOf(code, kTransientCodes)) return ErrorClass::kTransient;
  if (IsOneOf(code, kExpiredCodes)) return ErrorClass::kAuthRefresh;
  if (IsOneOf(code, kSkewCodes)) return ErrorClass::kClockSkew;
  if (IsOneOf(code, kRedirectCodes)) return ErrorClass::kRedirect;
  switch (status) {
    case 301:
    case 302:
    case 307:
    case 308:
      return ErrorClass::kRedirect;
    case 400:
      // AuthorizationHeaderMalformed names the right <Region>; HEAD names it in a header only.
      if (NamesAnotherRegion(answer, facts) &&
          (code.empty() || code == "AuthorizationHeaderMalformed" ||
           code == "IllegalLocationConstraintException")) {
        return ErrorClass::kRedirect;
      }
      // An expired token on HEAD is a bare 400.
      if (code.empty() && facts.session_credentials) return ErrorClass::kAuthRefresh;
      return ErrorClass::kFatal;
    case 403:
      return code.empty() && SkewIsNoticeable(answer) ? ErrorClass::kClockSkew : ErrorClass::kFatal;
    case 408:
      return ErrorClass::kTransient;
    case 501:
    case 505:
    case 507:
      return ErrorClass::kFatal;
    case 503:
      return code.empty() ? ErrorClass::kThrottle : ErrorClass::kTransient;
    default:
      return status >= 500 ? ErrorClass::kTransient : ErrorClass::kFatal;
  }
}

}  // namespace headrace::s3
