#include "support/filters.h"

namespace headrace::cli {
namespace {

// Matches one byte against the set at the front of `pattern`, after its '['. Returns the length of
// the set with its ']', 0 when it has none.
std::size_t MatchSet(std::string_view pattern, char c, bool* matched) {
  std::size_t i = 0;
  const bool negated = !pattern.empty() && pattern[0] == '!';
  if (negated) ++i;
  const std::size_t close = pattern.find(']', i + 1);  // a ']' in the first place is a letter
  if (close == std::string_view::npos) return 0;
  bool in_set = false;
  const auto byte = static_cast<unsigned char>(c);
  while (i < close) {
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < close && pattern[i + 1] == '-') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    if (byte >= low && byte <= high) in_set = true;
    ++i;
  }
  *matched = in_set != negated;
  return close + 1;
}

// Matches one byte against the front of `pattern`; returns the length of what was matched, 0 for
// no.
std::size_t MatchOne(std::string_view pattern, char c) {
  if (pattern.empty() || pattern[0] == '*') return 0;
  if (pattern[0] == '?') return 1;
  if (pattern[0] == '[') {
    bool matched = false;
    if (const std::size_t length = MatchSet(pattern.substr(1), c, &matched); length > 0) {
      return matched ? length + 1 : 0;
    }
  }
  return pattern[0] == c ? 1 : 0;
}

}  // namespace

bool GlobMatches(std::string_view pattern, std::string_view text) {
  // Only the last '*' needs to be tried again with more text: what an earlier one took is enough.
  std::string_view after_star;
  std::string_view star_text;
  bool has_star = false;
  while (!text.empty()) {
    if (const std::size_t length = MatchOne(pattern, text[0]); length > 0) {
      pattern.remove_prefix(length);
      text.remove_prefix(1);
    } else if (!pattern.empty() && pattern[0] == '*') {
      pattern.remove_prefix(1);
      after_star = pattern;
      star_text = text;
      has_star = true;
    } else if (has_star) {
      star_text.remove_prefix(1);
      pattern = after_star;
      text = star_text;
    } else {
      return false;
    }
  }
  while (!pattern.empty() && pattern[0] == '*') pattern.remove_prefix(1);
  return pattern.empty();
}

bool Filters::Accepts(std::string_view path) const {
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (GlobMatches(rule->pattern, path)) return rule->include;
  }
  return true;
}

}  // namespace headrace::cli
