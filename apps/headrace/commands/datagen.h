// headrace datagen images|files DIR: data sets to try things on.
#pragma once

#include "commands/command.h"

namespace headrace::cli {

void AddDatagen(CLI::App& app, std::function<void(Command)> chosen);

}  // namespace headrace::cli
