// Headers, addresses, dates, checksums and JSON that come from outside.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "s3/container_credentials.h"
#include "s3/credential_json.h"
#include "s3/endpoint.h"
#include "s3/etag.h"
#include "s3/retry.h"
#include "s3/subprocess.h"
#include "s3/time_text.h"
#include "s3/uri.h"
#include "s3/xml.h"

namespace {

std::string DecodeListed(std::string_view text) {
  std::string out(text);
  out.resize(headrace::s3::DecodeListedInPlace(out.data(), out.size()));
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace::s3;  // NOLINT: one function, all of that namespace
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (DecodeListed(EncodeQuery(text)) != text || DecodeListed(EncodePath(text)) != text)
    std::abort();
  (void)DecodeListed(text);
  if (const auto uri = ParseUri(text); uri.ok()) {
    const auto again = ParseUri(FormatUri(uri->bucket, uri->key));
    if (!again.ok() || !(*again == *uri)) std::abort();
  }
  if (BareEtag(QuotedEtag(text)) != BareEtag(text)) std::abort();
  (void)ParseHttpDate(text);
  if (const auto time = ParseIso8601(text)) (void)FormatIso8601(*time);
  if (ParseRetryAfter(text, {}) < headrace::Duration::zero()) std::abort();
  for (const auto algorithm : {ChecksumAlgorithm::kCrc32c, ChecksumAlgorithm::kCrc64Nvme}) {
    const auto stored = ParseStoredChecksum(algorithm, text, "");
    if (stored.ok() && stored->full_object && stored->checksum.ToHeader() != text) std::abort();
  }
  if (const auto endpoint = Endpoint::FromUrl(text, ""); endpoint.ok()) {
    const Target target = endpoint->For("bucket", "key");
    if (target.path.empty() || target.path[0] != '/' || target.port == 0) std::abort();
  }
  ServerAnswer redirect{.http_status = 307, .location = std::string(text)};
  for (const char* from : {"http://127.0.0.1:9000", "https://s3.example.com"}) {
    const Endpoint endpoint = *Endpoint::FromUrl(from, "r");
    if (const auto to = endpoint.Redirected(redirect, "bucket"); to.ok()) {
      // Credentials stay at home, whatever the server says.
      const bool below = to->host.ends_with("." + endpoint.host) && !IsAddress(endpoint.host);
      if (to->host != endpoint.host && !below) std::abort();
      if (endpoint.scheme == "https" && to->scheme != "https") std::abort();
    }
  }
  (void)IsAllowedContainerUrl(text);
  (void)SplitCommand(text);
  (void)ParseCredentialJson(text, "Token", "the source");
  (void)XmlCanCarry(text);
  return 0;
}
