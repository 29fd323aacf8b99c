// The head of an HTTP/1.1 request, parsed strictly: what two servers could read in two ways is
// refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/status.h"

namespace headrace::devserver {

inline constexpr std::size_t kMaxHeadBytes = 64 << 10;

// All views point into `raw`, so a head is moved as a whole and never copied.
class RequestHead {
 public:
  RequestHead() = default;
  RequestHead(const RequestHead&) = delete;
  RequestHead& operator=(const RequestHead&) = delete;

  // Parses `head`, which ends with the empty line. Lower-cases the header names, strips the values.
  // Errors: an S3 error (400, 501 or 505) after which the connection cannot be used again.
  Status Parse(std::string_view head);

  std::string_view method() const { return method_; }
  std::string_view path() const { return path_; }    // as sent, still percent-encoded
  std::string_view query() const { return query_; }  // as sent, without the `?`
  // The value of the first header of that (lower-case) name; "" when absent.
  std::string_view Header(std::string_view name) const;
  bool HasHeader(std::string_view name) const;
  const std::vector<std::pair<std::string_view, std::string_view>>& headers() const {
    return headers_;
  }

  bool chunked() const { return chunked_; }
  std::optional<std::uint64_t> content_length() const { return content_length_; }
  bool keep_alive() const { return keep_alive_; }
  bool expects_continue() const { return expects_continue_; }

 private:
  Status ParseRequestLine(std::string_view line, bool* http10);
  Status ParseFraming(bool http10);

  std::string raw_;
  std::string_view method_;
  std::string_view path_;
  std::string_view query_;
  std::vector<std::pair<std::string_view, std::string_view>> headers_;
  std::optional<std::uint64_t> content_length_;
  bool chunked_ = false;
  bool keep_alive_ = true;
  bool expects_continue_ = false;
};

// Decoded query parameters in the order sent.
class QueryParams {
 public:
  // Errors: InvalidURI for a broken percent escape.
  Status Parse(std::string_view query);
  bool Has(std::string_view name) const;
  std::string_view Get(std::string_view name) const;  // "" when absent
  const std::vector<std::pair<std::string, std::string>>& all() const { return params_; }

 private:
  std::vector<std::pair<std::string, std::string>> params_;
};

// A Range header resolved against an object's size.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
enum class RangeKind : std::uint8_t { kWhole, kPartial, kUnsatisfiable };

// Reads "bytes=a-b", "bytes=a-" and "bytes=-n". Anything else, several ranges included, counts as
// no range at all (kWhole), as in S3.
RangeKind ResolveRange(std::string_view header, std::uint64_t size, ByteRange* range);

}  // namespace headrace::devserver
