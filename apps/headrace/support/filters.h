// --exclude and --include, as `aws s3` has them: shell patterns over the path below the source,
// each overruling the ones before it; what no pattern matches is included.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headrace::cli {

class Filters {
 public:
  void Include(std::string pattern) { rules_.push_back({std::move(pattern), true}); }
  void Exclude(std::string pattern) { rules_.push_back({std::move(pattern), false}); }
  bool empty() const { return rules_.empty(); }

  // `path` is relative to the source folder or prefix.
  bool Accepts(std::string_view path) const;

 private:
  struct Rule {
    std::string pattern;
    bool include;
  };
  std::vector<Rule> rules_;
};

// Whether the whole of `text` fits: `*` any bytes (also '/'), `?` one byte, `[a-z]` and `[!a-z]`
// one byte of a set; a '[' without its ']' is a letter. Runs in O(pattern x text).
bool GlobMatches(std::string_view pattern, std::string_view text);

}  // namespace headrace::cli
