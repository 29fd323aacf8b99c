#pragma once

#include <CLI/CLI.hpp>

namespace headrace::cli {

// Adds `headrace datagen images|files`.
void AddDatagen(CLI::App& app);

}  // namespace headrace::cli
