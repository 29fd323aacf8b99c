#include "commands/cat.h"

#include <charconv>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/macros.h"
#include "headrace/client.h"
#include "support/common_options.h"
#include "support/interrupt.h"
#include "support/location.h"
#include "support/standard_streams.h"
#include "support/streams.h"
#include "support/text.h"

namespace headrace::cli {
namespace {

struct CatArguments {
  CommonOptions common;
  std::vector<std::string> uris;
  std::string range;
};

constexpr const char* kHelpFooter = R"(Examples:
  headrace cat s3://bucket/labels.csv | head
  headrace cat s3://bucket/shard-000.tar s3://bucket/shard-001.tar > both.tar
  headrace cat --range 0-1023 s3://bucket/model.safetensors | xxd

Reads ahead while the output is taken. Exit status: 0 when all was printed, 1 when something failed
(what was printed until then stays), 2 for wrong use; when the reader ends first (`| head`), cat dies
quietly of SIGPIPE, which is 141 in a shell.)";

std::optional<std::uint64_t> Number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "FIRST-LAST", both included, or "FIRST-".
Result<ByteRange> ParseRange(std::string_view text) {
  ByteRange range;
  if (text.empty()) return range;
  const std::size_t dash = text.find('-');
  const auto first = Number(text.substr(0, dash));
  const std::string_view last_text = dash == std::string_view::npos ? "?" : text.substr(dash + 1);
  const auto last = last_text.empty() ? std::optional(UINT64_MAX - 1) : Number(last_text);
  if (!first || !last || *last < *first || *last == UINT64_MAX) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("--range '{}': write FIRST-LAST, both included, or FIRST-", text));
  }
  range.offset = *first;
  range.length = *last - *first + 1;
  return range;
}

int Cat(const CatArguments& arguments) {
  Interrupt interrupt;
  const Result<ByteRange> range = ParseRange(arguments.range);
  if (!range.ok()) return UsageError("cat", range.status());
  std::vector<std::string> uris;
  for (const std::string& uri : arguments.uris) {
    Result<Location> location = ParseS3(uri);
    if (!location.ok()) return UsageError("cat", location.status());
    if (location->key.empty()) {
      return UsageError(
          "cat", Status(StatusCode::kInvalidArgument,
                        fmt::format("'{}' is a bucket; name an object: s3://bucket/key", uri)));
    }
    uris.push_back(location->Text());
  }
  int exit_code = kExitOk;
  const std::shared_ptr<Client> client = OpenClient("cat", arguments.common, &exit_code);
  if (!client) return exit_code;
  for (const std::string& uri : uris) {
    const Status status =
        StreamOut(*client, uri, *range, STDOUT_FILENO, interrupt.token(), [](std::uint64_t) {});
    if (status.ok()) continue;
    exit_code = kExitFailed;
    if (interrupt.token().stop_requested()) break;
    PrintError("headrace cat: {}\n", ErrorText(status));
  }
  if (arguments.common.output.stats) {
    for (const auto& [name, value] : client->Metrics()) PrintError("{} {}\n", name, value);
  }
  return interrupt.Finish(exit_code);
}

}  // namespace

void AddCat(CLI::App& app, std::function<void(Command)> chosen) {
  auto arguments = std::make_shared<CatArguments>();
  CLI::App* cat = app.add_subcommand("cat", "Print objects on standard output");
  cat->footer(kHelpFooter);
  cat->add_option("URI", arguments->uris, "s3://bucket/key; several are printed one after another")
      ->required();
  cat->add_option("--range", arguments->range,
                  "these bytes only: FIRST-LAST, both included, or FIRST-");
  AddClientOptions(*cat, &arguments->common);
  cat->add_flag("--stats", arguments->common.output.stats, "the engine's metrics on standard error")
      ->group("Output");
  cat->callback([arguments, chosen] { chosen([arguments] { return Cat(*arguments); }); });
}

}  // namespace headrace::cli
