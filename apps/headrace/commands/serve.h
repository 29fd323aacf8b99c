// headrace serve DIR: the embedded S3 server.
#pragma once

#include "commands/command.h"

namespace headrace::cli {

void AddServe(CLI::App& app, std::function<void(Command)> chosen);

}  // namespace headrace::cli
