// What a verb of the command line is: it adds itself to the parser and is run when it was named.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace headrace::cli {

// Exit codes of every verb.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // some of it failed
inline constexpr int kExitUsage = 2;   // wrong use; nothing was done

// Runs a verb after the arguments were parsed; gives the exit code.
using Command = std::function<int()>;

// Adds a verb to `app` and calls `chosen` with its Command if the user named it. One function of
// this shape per verb, each in a file of its own, listed in main.cc.
using AddCommand = void (*)(CLI::App& app, std::function<void(Command)> chosen);

}  // namespace headrace::cli
