// headrace ls: list buckets, or what stands under a prefix.
#pragma once

#include "commands/command.h"

namespace headrace::cli {

void AddLs(CLI::App& app, std::function<void(Command)> chosen);

}  // namespace headrace::cli
