// Running a program and reading what it prints, as credential_process needs.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "headrace/status.h"

namespace headrace::s3 {

// Runs argv[0] (searched for in PATH, no shell) and returns its standard output. Its standard error
// is ours, so that a prompt or a complaint reaches the user; its standard input is empty. A stop or
// a deadline kills it. Errors: kNotFound (no such program), kIo (exit status, signal, too much
// output), kCancelled, kTimeout. No error holds any of its output.
Result<std::string> RunProgram(const std::vector<std::string>& argv, std::stop_token stop,
                               Deadline deadline);

// Splits a command line as a POSIX shell would split words: blanks, '…', "…" and backslashes,
// nothing else. nullopt when a quote is not closed or there is no word.
std::optional<std::vector<std::string>> SplitCommand(std::string_view command);

}  // namespace headrace::s3
