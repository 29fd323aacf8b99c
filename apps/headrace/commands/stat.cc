#include "commands/stat.h"

#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/macros.h"
#include "headrace/client.h"
#include "support/common_options.h"
#include "support/interrupt.h"
#include "support/location.h"
#include "support/standard_streams.h"
#include "support/text.h"

namespace headrace::cli {
namespace {

struct StatArguments {
  CommonOptions common;
  std::vector<std::string> uris;
};

constexpr const char* kHelpFooter = R"(Examples:
  headrace stat s3://bucket/train/0001.jpg
  headrace stat --json s3://bucket/a s3://bucket/b

A prefix that is not itself an object is not found. Exit status: 0 when all were found, 1 when some
were not, 2 for wrong use.)";

void PrintText(Output& out, const std::string& uri, const ObjectInfo& info) {
  out.Line(fmt::format("         URI: {}", Printable(uri)));
  out.Line(
      fmt::format("        Size: {} ({})", info.size, HumanBytes(static_cast<double>(info.size))));
  out.Line(fmt::format("    Modified: {}", LocalTime(info.last_modified)));
  out.Line(fmt::format("        ETag: {}", Printable(info.etag)));
  out.Line(fmt::format("       Class: {}",
                       info.storage_class.empty() ? "STANDARD" : info.storage_class));
  if (!info.content_type.empty())
    out.Line(fmt::format("        Type: {}", Printable(info.content_type)));
  for (const auto& [name, value] : info.metadata) {
    out.Line(fmt::format("    Metadata: {}={}", Printable(name), Printable(value)));
  }
}

void PrintJson(Output& out, const ObjectInfo& info) {
  nlohmann::json line = {{"bucket", info.bucket}};
  PutName(line, "key", info.key);
  line["size"] = info.size;
  line["etag"] = info.etag;
  line["last_modified"] = UtcTime(info.last_modified);
  line["storage_class"] = info.storage_class.empty() ? "STANDARD" : info.storage_class;
  line["content_type"] = info.content_type;
  line["metadata"] = info.metadata;
  out.Line(Dump(line));
}

void PrintFailure(Output& out, const Location& location, const Status& status, bool json) {
  if (!json) {
    out.Flush();
    return PrintError("headrace stat: {}\n", ErrorText(status));
  }
  nlohmann::json line = {{"bucket", location.bucket}};
  PutName(line, "key", location.key);
  line["error"] = ErrorText(status);
  line["code"] = StatusCodeName(status.code());
  out.Line(Dump(line));
}

// `summary` with the metrics, where they are asked for.
void PrintSummary(Output& out, nlohmann::json summary, const Client& client,
                  const OutputOptions& output) {
  if (output.json) {
    if (output.stats) {
      for (const auto& [name, value] : client.Metrics()) summary["metrics"][name] = value;
    }
    out.Line(Dump({{"summary", std::move(summary)}}));
  } else if (output.stats) {
    for (const auto& [name, value] : client.Metrics()) PrintError("{} {}\n", name, value);
  }
}

Result<std::vector<Location>> ParseObjects(const std::vector<std::string>& uris) {
  std::vector<Location> locations;
  for (const std::string& uri : uris) {
    ASSIGN_OR_RETURN(Location location, ParseS3(uri));
    if (location.key.empty()) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("'{}' is a bucket; name an object: s3://bucket/key", uri));
    }
    locations.push_back(std::move(location));
  }
  return locations;
}

int Stat(const StatArguments& arguments) {
  Interrupt interrupt;
  const OutputOptions& output = arguments.common.output;
  const Result<std::vector<Location>> locations = ParseObjects(arguments.uris);
  if (!locations.ok()) return UsageError("stat", locations.status());
  int exit_code = kExitOk;
  const std::shared_ptr<Client> client = OpenClient("stat", arguments.common, &exit_code);
  if (!client) return exit_code;

  Output out(stdout);
  std::uint64_t found = 0;
  std::uint64_t bytes = 0;
  for (const Location& location : *locations) {
    const std::string uri = location.Text();
    Result<ObjectInfo> info = client->Head(uri, interrupt.token());
    if (info.ok()) {
      ++found;
      bytes += info->size;
      if (output.json) {
        PrintJson(out, *info);
      } else if (!output.quiet) {
        PrintText(out, uri, *info);
      }
      continue;
    }
    exit_code = kExitFailed;
    PrintFailure(out, location, info.status(), output.json);
    if (interrupt.token().stop_requested()) break;
  }
  PrintSummary(out, {{"objects", found}, {"failed", locations->size() - found}, {"bytes", bytes}},
               *client, output);
  return interrupt.Finish(out.Finish("headrace stat", exit_code));
}

}  // namespace

void AddStat(CLI::App& app, std::function<void(Command)> chosen) {
  auto arguments = std::make_shared<StatArguments>();
  CLI::App* stat = app.add_subcommand("stat", "Describe objects: size, ETag, time, type, metadata");
  stat->footer(kHelpFooter);
  stat->add_option("URI", arguments->uris, "s3://bucket/key; several may be given")->required();
  AddClientOptions(*stat, &arguments->common);
  AddOutputOptions(*stat, &arguments->common);
  stat->callback([arguments, chosen] { chosen([arguments] { return Stat(*arguments); }); });
}

}  // namespace headrace::cli
