// headrace stat: describe objects.
#pragma once

#include "commands/command.h"

namespace headrace::cli {

void AddStat(CLI::App& app, std::function<void(Command)> chosen);

}  // namespace headrace::cli
