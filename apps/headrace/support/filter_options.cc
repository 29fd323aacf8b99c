#include "support/filter_options.h"

#include <cstddef>

namespace headrace::cli {

void AddFilterOptions(CLI::App& verb, FilterOptions* options) {
  const char* group = "Choice";
  options->verb = &verb;
  options->exclude =
      verb.add_option("--exclude", options->excludes,
                      "leave out paths (below the source) that fit this pattern; * also fits /")
          ->allow_extra_args(false)
          ->group(group);
  options->include = verb.add_option("--include", options->includes,
                                     "take them all the same; later patterns overrule earlier ones")
                         ->allow_extra_args(false)
                         ->group(group);
}

Filters MakeFilters(const FilterOptions& options) {
  // CLI11 gathers each option's values by themselves; the order between the two is in
  // parse_order().
  Filters filters;
  std::size_t includes = 0;
  std::size_t excludes = 0;
  for (const CLI::Option* option : options.verb->parse_order()) {
    if (option == options.include && includes < options.includes.size()) {
      filters.Include(options.includes[includes++]);
    } else if (option == options.exclude && excludes < options.excludes.size()) {
      filters.Exclude(options.excludes[excludes++]);
    }
  }
  return filters;
}

}  // namespace headrace::cli
