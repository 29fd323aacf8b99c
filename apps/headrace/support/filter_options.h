// --include and --exclude on a verb, in the order in which the user gave them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "support/filters.h"

namespace headrace::cli {

struct FilterOptions {
  CLI::App* verb = nullptr;
  CLI::Option* include = nullptr;
  CLI::Option* exclude = nullptr;
  std::vector<std::string> includes;
  std::vector<std::string> excludes;
};

void AddFilterOptions(CLI::App& verb, FilterOptions* options);

// REQUIRES: the verb was parsed.
Filters MakeFilters(const FilterOptions& options);

}  // namespace headrace::cli
