// The `headrace` command: one subcommand per file of commands/.

#include <CLI/CLI.hpp>

#include "commands/datagen.h"

int main(int argc, char** argv) {
  CLI::App app("Feeds training from S3-compatible storage", "headrace");
  app.require_subcommand(1);
  headrace::cli::AddDatagen(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return 0;
}
