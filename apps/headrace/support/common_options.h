// The options that all verbs share: where the service is, who asks, how results are told.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "headrace/client.h"
#include "headrace/options.h"
#include "support/reporter.h"

namespace headrace::cli {

struct CommonOptions {
  ClientOptions client;
  OutputOptions output;
  std::string memory_limit;
};

// Adds them to a verb, in help groups of their own. `options` must live as long as the verb.
void AddClientOptions(CLI::App& verb, CommonOptions* options);
void AddOutputOptions(CLI::App& verb, CommonOptions* options);

// Opens the client. On failure prints why ("headrace ls: …") and gives null; `exit_code` is 2 when
// the options are wrong, 1 otherwise.
std::shared_ptr<Client> OpenClient(const std::string& verb, const CommonOptions& options,
                                   int* exit_code);

// Prints a complaint about the arguments; returns the exit code for wrong use.
int UsageError(const std::string& verb, const Status& status);

}  // namespace headrace::cli
