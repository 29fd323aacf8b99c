#include "devserver/http_request.h"

#include <algorithm>

#include "base/macros.h"
#include "devserver/errors.h"
#include "devserver/text.h"

namespace headrace::devserver {
namespace {

bool IsTokenChar(unsigned char c) {
  if (c <= 0x20 || c >= 0x7F) return false;
  return std::string_view("()<>@,;:\\\"/[]?={}").find(static_cast<char>(c)) ==
         std::string_view::npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenChar);
}

Status Malformed(std::string_view what) { return S3Error("InvalidRequest", what); }

}  // namespace

Status RequestHead::Parse(std::string_view head) {
  raw_.assign(head);
  method_ = path_ = query_ = {};
  headers_.clear();
  content_length_.reset();
  chunked_ = false;
  keep_alive_ = true;
  expects_continue_ = false;

  std::size_t line_end = raw_.find("\r\n");
  if (line_end == std::string::npos) return Malformed("The request line is not terminated.");
  bool http10 = false;
  RETURN_IF_ERROR(ParseRequestLine(std::string_view(raw_).substr(0, line_end), &http10));

  std::size_t at = line_end + 2;
  while (true) {
    std::size_t end = raw_.find("\r\n", at);
    if (end == std::string::npos) return Malformed("The headers are not terminated.");
    if (end == at) break;
    std::string_view line = std::string_view(raw_).substr(at, end - at);
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) {
      return Malformed("A header line has no valid name.");
    }
    for (std::size_t i = 0; i < colon; ++i) {
      char& c = raw_[at + i];
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    }
    std::string_view value = Trim(line.substr(colon + 1));
    for (unsigned char c : value) {
      if ((c < 0x20 && c != '\t') || c == 0x7F) {
        return Malformed("A header value holds a control character.");
      }
    }
    headers_.emplace_back(line.substr(0, colon), value);
    if (headers_.size() > 500) return S3Error("RequestHeaderSectionTooLarge");
    at = end + 2;
  }
  return ParseFraming(http10);
}

Status RequestHead::ParseRequestLine(std::string_view line, bool* http10) {
  std::size_t first = line.find(' ');
  std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return Malformed("The request line is not `METHOD target HTTP/1.1`.");
  }
  method_ = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  std::string_view version = line.substr(last + 1);
  if (!IsToken(method_)) return Malformed("The method is not a token.");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return Malformed("Only HTTP/1.0 and HTTP/1.1 are spoken here.");
  }
  *http10 = version == "HTTP/1.0";
  for (unsigned char c : target) {
    if (c <= 0x20 || c == 0x7F) return S3Error("InvalidURI");
  }
  if (!target.starts_with('/')) {  // absolute form, as sent to proxies
    std::size_t scheme = target.find("://");
    if (scheme == std::string_view::npos) return S3Error("InvalidURI");
    std::size_t slash = target.find('/', scheme + 3);
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  std::size_t question = target.find('?');
  path_ = target.substr(0, question);
  query_ = question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
  return Status();
}

Status RequestHead::ParseFraming(bool http10) {
  keep_alive_ = !http10;
  for (const auto& [name, value] : headers_) {
    if (name == "content-length") {
      auto length = ParseUint(value);
      if (!length) return Malformed("Content-Length is not a number.");
      if (content_length_ && *content_length_ != *length) {
        return Malformed("Two Content-Length headers differ.");
      }
      content_length_ = *length;
    } else if (name == "transfer-encoding") {
      if (!EqualsIgnoreCase(value, "chunked")) {
        return S3Error("NotImplemented", "The only Transfer-Encoding known here is chunked.");
      }
      chunked_ = true;
    } else if (name == "connection") {
      std::string lower = ToLower(value);
      if (lower.find("close") != std::string::npos) keep_alive_ = false;
      if (http10 && lower.find("keep-alive") != std::string::npos) keep_alive_ = true;
    } else if (name == "expect") {
      expects_continue_ = EqualsIgnoreCase(value, "100-continue");
    }
  }
  if (chunked_ && content_length_) {
    return Malformed("Content-Length and Transfer-Encoding exclude each other.");
  }
  return Status();
}

std::string_view RequestHead::Header(std::string_view name) const {
  for (const auto& [header, value] : headers_) {
    if (header == name) return value;
  }
  return {};
}

bool RequestHead::HasHeader(std::string_view name) const {
  return std::any_of(headers_.begin(), headers_.end(),
                     [name](const auto& header) { return header.first == name; });
}

Status QueryParams::Parse(std::string_view query) {
  params_.clear();
  while (!query.empty()) {
    std::size_t end = query.find('&');
    std::string_view part = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    if (part.empty()) continue;
    std::size_t equals = part.find('=');
    auto name = UriDecode(part.substr(0, equals), true);
    auto value =
        equals == std::string_view::npos ? std::string() : UriDecode(part.substr(equals + 1), true);
    if (!name || !value) return S3Error("InvalidURI", "A query parameter is badly encoded.");
    params_.emplace_back(std::move(*name), std::move(*value));
  }
  return Status();
}

bool QueryParams::Has(std::string_view name) const {
  return std::any_of(params_.begin(), params_.end(),
                     [name](const auto& param) { return param.first == name; });
}

std::string_view QueryParams::Get(std::string_view name) const {
  for (const auto& [param, value] : params_) {
    if (param == name) return value;
  }
  return {};
}

RangeKind ResolveRange(std::string_view header, std::uint64_t size, ByteRange* range) {
  *range = {0, size};
  if (!header.starts_with("bytes=")) return RangeKind::kWhole;
  std::string_view spec = Trim(header.substr(6));
  std::size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return RangeKind::kWhole;
  std::string_view first_text = spec.substr(0, dash);
  std::string_view last_text = spec.substr(dash + 1);
  auto first = ParseUint(first_text);
  auto last = ParseUint(last_text);
  if ((!first && !first_text.empty()) || (!last && !last_text.empty())) return RangeKind::kWhole;
  if (!first && !last) return RangeKind::kWhole;
  if (!first) {  // the last n bytes
    if (*last == 0 || size == 0) return RangeKind::kUnsatisfiable;
    std::uint64_t length = std::min(*last, size);
    *range = {size - length, length};
    return RangeKind::kPartial;
  }
  if (last && *last < *first) return RangeKind::kWhole;
  if (*first >= size) return RangeKind::kUnsatisfiable;
  std::uint64_t end = last ? std::min(*last, size - 1) : size - 1;
  *range = {*first, end - *first + 1};
  return RangeKind::kPartial;
}

}  // namespace headrace::devserver
