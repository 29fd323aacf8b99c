// headrace rm: delete objects.
#pragma once

#include "commands/command.h"

namespace headrace::cli {

void AddRm(CLI::App& app, std::function<void(Command)> chosen);

}  // namespace headrace::cli
