// The server's own check of AWS Signature Version 4. It shares no code with the client that signs.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "devserver/http_request.h"
#include "headrace/status.h"

namespace headrace::devserver {

// How the request's body is covered by its signature (x-amz-content-sha256).
enum class PayloadMode : std::uint8_t {
  kUnsigned,               // UNSIGNED-PAYLOAD, or no header at all
  kSha256,                 // the hex digest of the body
  kStreamingUnsigned,      // aws-chunked, STREAMING-UNSIGNED-PAYLOAD-TRAILER
  kStreamingSigned,        // aws-chunked, each chunk signed
  kStreamingSignedTrailer  // the same, and a signed trailer
};

// Who signed, and what the chunks of an aws-chunked body chain on.
struct AuthInfo {
  bool anonymous = true;
  std::string access_key;
  PayloadMode payload = PayloadMode::kUnsigned;
  std::string payload_sha256;  // hex, for kSha256
  std::string signing_key;
  std::string amz_date;
  std::string scope;           // "20130524/us-east-1/s3/aws4_request"
  std::string seed_signature;  // hex
};

// The pieces of the computation, open to tests and to error messages.
// `signed_headers` is sorted and lower-case; the X-Amz-Signature parameter is left out of the
// query.
std::string CanonicalRequest(const RequestHead& head, const QueryParams& query,
                             const std::vector<std::string_view>& signed_headers,
                             std::string_view payload_hash);
std::string StringToSign(std::string_view amz_date, std::string_view scope,
                         std::string_view canonical_request);
std::string DeriveSigningKey(std::string_view secret_key, std::string_view date,
                             std::string_view region, std::string_view service);

// Checks requests against one pair of keys. Thread-safe.
class Authenticator {
 public:
  struct Options {
    std::string access_key;
    std::string secret_key;
    std::string region;
    std::int64_t max_skew_seconds = 900;
  };
  explicit Authenticator(Options options);

  // The signer of the request, or `anonymous` when nothing claims to be a signature.
  // `now` is in seconds since 1970. Errors are S3's own.
  Result<AuthInfo> Check(const RequestHead& head, const QueryParams& query, std::int64_t now);

 private:
  struct Claim;
  Status ReadHeaderClaim(const RequestHead& head, Claim* claim) const;
  Status ReadQueryClaim(const QueryParams& query, std::int64_t now, Claim* claim) const;
  Status CheckScope(const Claim& claim, std::string_view malformed_code) const;
  Result<AuthInfo> CheckVersion2(const RequestHead& head, const QueryParams& query,
                                 std::int64_t now) const;
  std::string SigningKey(std::string_view date);

  Options options_;
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> keys_by_date_;  // guarded by mutex_
};

// Verifies the chained signatures of an aws-chunked body. Used by one request at a time.
class ChunkVerifier {
 public:
  explicit ChunkVerifier(const AuthInfo& auth);
  // `sha256` is the raw digest of the chunk's data; `signature` the hex one that came with it.
  Status CheckChunk(std::string_view sha256, std::string_view signature);
  // `trailers` is the canonical trailer block: "name:value\n" for each.
  Status CheckTrailer(std::string_view trailers, std::string_view signature);

 private:
  std::string signing_key_;
  std::string prefix_;  // date and scope lines
  std::string previous_signature_;
};

}  // namespace headrace::devserver
