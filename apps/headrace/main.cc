// The headrace command: verbs as in `aws s3` and coreutils, one file each in commands/.
#include <exception>
#include <fmt/format.h>
#include <iostream>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>

#include "commands/cat.h"
#include "commands/command.h"
#include "commands/cp.h"
#include "commands/datagen.h"
#include "commands/ls.h"
#include "commands/rm.h"
#include "commands/serve.h"
#include "commands/stat.h"
#include "support/standard_streams.h"

namespace {

constexpr headrace::cli::AddCommand kCommands[] = {
    headrace::cli::AddLs,      headrace::cli::AddCp,   headrace::cli::AddRm,
    headrace::cli::AddCat,     headrace::cli::AddStat, headrace::cli::AddServe,
    headrace::cli::AddDatagen,
};

// What is wrong with the command line, and where to read more. `first` is its first argument.
std::string Complaint(const CLI::App& app, const CLI::Error& error, const std::string& first) {
  std::string verbs;
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (verb->get_name() == first) {
      return fmt::format("headrace {}: {}\nSee headrace {} --help.\n", first, error.what(), first);
    }
    verbs += fmt::format("{}{}", verbs.empty() ? "" : ", ", verb->get_name());
  }
  if (first.empty() || first.starts_with('-')) {
    return fmt::format("headrace: {}\nSee headrace --help.\n", error.what());
  }
  return fmt::format("headrace: there is no verb '{}'; there are {}\nSee headrace --help.\n", first,
                     verbs);
}

int Run(int argc, char** argv) {
  CLI::App app("Headrace: feeds training from S3-compatible storage");
  app.name("headrace");
  app.set_version_flag("--version", HEADRACE_VERSION);
  app.require_subcommand(1);
  app.failure_message([argc, argv](const CLI::App* app, const CLI::Error& error) {
    return Complaint(*app, error, argc > 1 ? argv[1] : "");
  });
  headrace::cli::Command command;
  for (auto add : kCommands) {
    add(app, [&command](headrace::cli::Command chosen) { command = std::move(chosen); });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream wanted;  // help or the version
    if (app.exit(error, wanted, std::cerr) != 0) return headrace::cli::kExitUsage;
    std::string text = wanted.str();
    if (text.ends_with('\n')) text.pop_back();
    headrace::cli::Output out(stdout);
    out.Line(text);
    return out.Finish("headrace", headrace::cli::kExitOk);
  }
  return command();
}

}  // namespace

int main(int argc, char** argv) {
  headrace::cli::OpenClosedStreams();
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    headrace::cli::PrintError("headrace: {}\n", error.what());
    return headrace::cli::kExitFailed;
  }
}
