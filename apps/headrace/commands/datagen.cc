#include "commands/datagen.h"

#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <stop_token>
#include <string>
#include <unistd.h>
#include <vector>

#include <nlohmann/json.hpp>

#include "datagen/datagen.h"
#include "support/common_options.h"
#include "support/interrupt.h"
#include "support/reporter.h"
#include "support/standard_streams.h"
#include "support/text.h"

namespace headrace::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  datagen::Common common;
  datagen::ImageSet images;
  datagen::FileSet files;
  std::vector<std::string> sizes;
  bool json = false;
  bool quiet = false;
};

// A line that is redrawn on a terminal; elsewhere one line every few seconds.
datagen::Progress ShowProgress(bool quiet) {
  if (quiet) return nullptr;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto interval = terminal ? std::chrono::milliseconds(200) : std::chrono::milliseconds(5000);
  return
      [terminal, interval, shown = Clock::now()](std::uint64_t done, std::uint64_t total) mutable {
        const bool last = done == total;
        if (Clock::now() - shown < interval && !(last && terminal)) return;
        shown = Clock::now();
        PrintError("{}{} of {} files{}", terminal ? "\r" : "", done, total,
                   terminal && !last ? "" : "\n");
      };
}

int Report(const Options& options, const Result<datagen::Totals>& totals, Clock::time_point begin) {
  Output out(stdout);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (options.json) {
    nlohmann::json summary;
    if (totals.ok()) {
      summary["files"] = totals->files;
      summary["bytes"] = totals->bytes;
    } else {
      summary["error"] = ErrorText(totals.status());
      summary["code"] = StatusCodeName(totals.status().code());
    }
    summary["seconds"] = seconds;
    out.Line(Dump({{"summary", summary}}));
  } else if (totals.ok() && !options.quiet) {
    out.Line(fmt::format("{} files, {:.1f} MB in {} ({:.1f} s)", totals->files,
                         static_cast<double>(totals->bytes) / 1e6, options.common.folder.string(),
                         seconds));
  }
  if (totals.ok()) return out.Finish("headrace datagen", kExitOk);
  if (totals.status().code() == StatusCode::kInvalidArgument) {
    return UsageError("datagen", totals.status());
  }
  if (!options.json) PrintError("headrace datagen: {}\n", ErrorText(totals.status()));
  return kExitFailed;
}

template <typename Write>
int Run(Options& options, Write write) {
  options.common.progress = ShowProgress(options.quiet || options.json);
  const auto begin = Clock::now();
  Interrupt interrupt;
  return interrupt.Finish(Report(options, write(interrupt.token()), begin));
}

void AddCommon(CLI::App& command, Options& options) {
  command.add_option("DIR", options.common.folder, "the folder to write to, made if need be")
      ->required();
  command.add_option("--seed", options.common.seed, "the same seed gives the same bytes")
      ->capture_default_str();
  command.add_option("--threads", options.common.threads, "default: one per core")
      ->check(CLI::PositiveNumber);
  command.add_flag("--json", options.json, "print a summary as one line of JSON");
  command.add_flag("--quiet", options.quiet, "print errors only");
}

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): the shape of AddCommand
void AddDatagen(CLI::App& app, std::function<void(Command)> chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("datagen", "make data sets to try things on");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  headrace datagen images demo                        2,000 JPEG files to train, 500 held "
      "out\n"
      "  headrace datagen files big --count 4 --size 128MiB\n"
      "  headrace datagen files mixed --count 1000 --size 1KB --size 115KB --size 8MB\n\n"
      "Exit status: 0 all written, 1 a file could not be written, 2 wrong use.");

  CLI::App* images = command->add_subcommand(
      "images", "real JPEG pictures of ten classes: DIR/{train,val}/CLASS/NUMBER.jpg");
  AddCommon(*images, *options);
  images->add_option("--train", options->images.train, "pictures to train on")
      ->capture_default_str();
  images->add_option("--held-out", options->images.held_out, "pictures to test on")
      ->capture_default_str();
  images->add_option("--width", options->images.width, "pixels")->capture_default_str();
  images->add_option("--height", options->images.height, "pixels")->capture_default_str();
  images->add_option("--quality", options->images.quality, "JPEG quality, 1 to 100")
      ->capture_default_str();
  images->callback([options, chosen] {
    chosen([options] {
      return Run(*options, [&](std::stop_token stop) {
        return datagen::WriteImages(options->common, options->images, std::move(stop));
      });
    });
  });

  CLI::App* files =
      command->add_subcommand("files", "files of given sizes that do not compress: DIR/NUMBER.bin");
  AddCommon(*files, *options);
  files->add_option("--count", options->files.count, "how many files")->required();
  files
      ->add_option(
          "--size", options->sizes,
          "bytes, or with a unit: 115KB (of 1000), 8MiB (of 1024); given again, sizes take turns")
      ->required()
      ->allow_extra_args(false);
  files->callback([options, chosen] {
    for (const std::string& size : options->sizes) {
      const Result<std::uint64_t> bytes = ParseBytes(size);
      if (!bytes.ok()) throw CLI::ValidationError("--size", bytes.status().message());
      options->files.sizes.push_back(*bytes);
    }
    chosen([options] {
      return Run(*options, [&](std::stop_token stop) {
        return datagen::WriteFiles(options->common, options->files, std::move(stop));
      });
    });
  });
}

}  // namespace headrace::cli
