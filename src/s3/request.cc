#include "s3/request.h"

#include <charconv>

namespace headrace::s3 {

const OperationFacts& FactsOf(Operation operation) {
  using Answer = OperationFacts::Answer;
  static constexpr std::array<OperationFacts, kOperationCount> kFacts = {{
      {"get", "GET", "read", Answer::kEtag},
      {"head", "HEAD", "read", Answer::kEtag},
      {"put", "PUT", "write", Answer::kEtag},
      {"delete", "DELETE", "delete", Answer::kNothing},
      {"delete_batch", "POST", "delete", Answer::kDocument, true},
      {"copy", "PUT", "copy", Answer::kDocument, true},
      {"list", "GET", "list", Answer::kDocument},
      {"create_upload", "POST", "write", Answer::kDocument},
      {"upload_part", "PUT", "write", Answer::kEtag},
      {"copy_part", "PUT", "copy", Answer::kDocument, true},
      {"complete_upload", "POST", "write", Answer::kDocument, true},
      {"abort_upload", "DELETE", "write", Answer::kNothing},
      {"create_bucket", "PUT", "create", Answer::kNothing},
      {"delete_bucket", "DELETE", "delete", Answer::kNothing},
      {"list_buckets", "GET", "list buckets of", Answer::kDocument},
      {"get_tags", "GET", "read the tags of", Answer::kDocument},
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
