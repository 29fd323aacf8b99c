// headrace cp: copy between this machine and S3, and within S3.
#pragma once

#include "commands/command.h"

namespace headrace::cli {

void AddCp(CLI::App& app, std::function<void(Command)> chosen);

}  // namespace headrace::cli
