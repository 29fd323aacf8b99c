// ETags, which servers write with and without their quotes, sometimes differently in each answer.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::s3 {

// The ETag without its quotes: the form in which two of them compare equal. A weak prefix (W/),
// which a compressing proxy adds, is dropped too.
inline std::string_view BareEtag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return etag;
}

// The ETag as If-Match must carry it (RFC 9110 8.8.3).
inline std::string QuotedEtag(std::string_view etag) {
  std::string quoted = "\"";
  quoted += BareEtag(etag);
  quoted += '"';
  return quoted;
}

// The ETag of an object that was put as a whole: its MD5, unless the service encrypts otherwise.
std::string WholeEtag(std::span<const std::byte> data);
// The ETag of an object that was made of these parts: the MD5 of their MD5s, and their number.
// nullopt where the parts' ETags are no MD5s, as with some kinds of encryption.
std::optional<std::string> MultipartEtag(const std::vector<std::string_view>& part_etags);

}  // namespace headrace::s3
