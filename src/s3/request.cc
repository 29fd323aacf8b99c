#include "s3/request.h"

#include <charconv>

namespace headrace::s3 {

const OperationFacts& FactsOf(Operation operation) {
  static constexpr std::array<OperationFacts, kOperationCount> kFacts = {{
      {"get", "GET", "read"},
      {"head", "HEAD", "read"},
      {"put", "PUT", "write"},
      {"delete", "DELETE", "delete"},
      {"delete_batch", "POST", "delete", true},
      {"copy", "PUT", "copy", true},
      {"list", "GET", "list"},
      {"create_upload", "POST", "write"},
      {"upload_part", "PUT", "write"},
      {"copy_part", "PUT", "copy", true},
      {"complete_upload", "POST", "write", true},
      {"abort_upload", "DELETE", "write"},
      {"create_bucket", "PUT", "create"},
      {"delete_bucket", "DELETE", "delete"},
      {"list_buckets", "GET", "list buckets of"},
      {"get_tags", "GET", "read the tags of"},
  }};
  return kFacts[static_cast<std::size_t>(operation)];
}

std::optional<std::uint64_t> ParseUnsigned(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  ContentRange range;
  const std::string_view size = text.substr(slash + 1);
  if (size != "*") {
    range.size = ParseUnsigned(size);
    if (!range.size) return std::nullopt;
  }
  const std::string_view span = text.substr(0, slash);
  if (span == "*") return range;  // of an answer 416
  const std::size_t dash = span.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint64_t> first = ParseUnsigned(span.substr(0, dash));
  if (!first || !ParseUnsigned(span.substr(dash + 1))) return std::nullopt;
  range.offset = *first;
  return range;
}

}  // namespace headrace::s3
