// headrace cat: print objects.
#pragma once

#include "commands/command.h"

namespace headrace::cli {

void AddCat(CLI::App& app, std::function<void(Command)> chosen);

}  // namespace headrace::cli
