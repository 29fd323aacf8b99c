// ETags, which servers write with and without their quotes, sometimes differently in each answer.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace headrace::s3
