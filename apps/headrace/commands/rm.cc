#include "commands/rm.h"

#include <fmt/format.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/macros.h"
#include "headrace/client.h"
#include "support/common_options.h"
#include "support/filter_options.h"
#include "support/interrupt.h"
#include "support/location.h"
#include "support/text.h"
#include "support/transfer_pool.h"

namespace headrace::cli {
namespace {

constexpr std::size_t kBatch = 1000;  // keys in one DeleteObjects request
constexpr std::size_t kThreads = 8;

struct RmArguments {
  CommonOptions common;
  FilterOptions filters;
  std::vector<std::string> uris;
  bool recursive = false;
  bool dryrun = false;
};

constexpr const char* kHelpFooter = R"(Examples:
  headrace rm s3://bucket/old.tar
  headrace rm --recursive --dryrun s3://bucket/run-17/
  headrace rm --recursive --exclude '*' --include '*.tmp' s3://bucket/run-17/

With --recursive an address is a folder: s3://bucket/run-1 does not touch run-17. Deleting what is not
there succeeds, as in S3; s3://bucket/run-17/ with objects below it needs --recursive. Exit status: 0
when all is gone, 1 when some of it is not, 2 for wrong use.)";

class Remover {
 public:
  Remover(const RmArguments& arguments, Client& client, Reporter& reporter, std::stop_token stop)
      : arguments_(arguments),
        client_(client),
        reporter_(reporter),
        stop_(stop),
        filters_(MakeFilters(arguments.filters)),
        pool_(kThreads, stop) {}

  void Add(std::string uri, std::uint64_t bytes) {
    reporter_.Planned(bytes);
    if (arguments_.dryrun) {
      reporter_.DryRun("delete", uri, "", bytes);
      return;
    }
    batch_.push_back({std::move(uri), bytes});
    if (batch_.size() == kBatch) Send();
  }

  void AddFolder(const Location& folder) {
    std::string prefix = folder.key;
    if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
    const Location whole{.kind = Location::Kind::kS3, .bucket = folder.bucket, .key = prefix};
    Result<std::unique_ptr<Lister>> lister = client_.List(whole.Text());
    if (!lister.ok()) return reporter_.Error(lister.status());
    for (;;) {
      Result<std::span<const ListEntry>> page = (*lister)->NextPage(stop_);
      if (!page.ok()) return reporter_.Error(page.status());
      if (page->empty()) return;
      for (const ListEntry& entry : *page) {
        if (!filters_.Accepts(entry.key.substr(prefix.size()))) continue;
        Location object = whole;
        object.key = entry.key;
        Add(object.Text(), entry.size);
      }
    }
  }

  void Finish() {
    if (!batch_.empty()) Send();
    reporter_.AllPlanned();
    pool_.Drain();
  }

 private:
  struct Item {
    std::string uri;
    std::uint64_t bytes;
  };

  void Send() {
    auto batch = std::make_shared<std::vector<Item>>(std::exchange(batch_, {}));
    pool_.Submit([this, batch] {
      std::vector<std::string> uris;
      uris.reserve(batch->size());
      for (const Item& item : *batch) uris.push_back(item.uri);
      const std::vector<Status> results = client_.Delete(uris, stop_);
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].ok()) {
          reporter_.Done("delete", uris[i], "", (*batch)[i].bytes);
        } else {
          reporter_.Failed("delete", uris[i], "", results[i]);
        }
      }
    });
  }

  const RmArguments& arguments_;
  Client& client_;
  Reporter& reporter_;
  const std::stop_token stop_;
  const Filters filters_;
  std::vector<Item> batch_;
  TransferPool pool_;
};

// kInvalidArgument for "folder/" when no object has that very name, but some stand below.
Status CheckNoFolder(const Location& location, Client& client, std::stop_token stop) {
  if (!location.key.ends_with('/')) return {};
  Result<std::unique_ptr<Lister>> lister = client.List(location.Text(), {.delimited = true});
  if (!lister.ok()) return {};
  const Result<std::span<const ListEntry>> page = (*lister)->NextPage(std::move(stop));
  // Who may not list may still delete.
  if (!page.ok() || page->empty() || page->front().key == location.key) return {};
  return Status(StatusCode::kInvalidArgument,
                fmt::format("'{}' is a folder; add --recursive", Printable(location.Text())));
}

// What the arguments name; kInvalidArgument for wrong use.
Result<std::vector<Location>> ParseArguments(const RmArguments& arguments) {
  std::vector<Location> locations;
  for (const std::string& uri : arguments.uris) {
    ASSIGN_OR_RETURN(Location location, ParseS3(uri));
    if (location.key.empty() && !arguments.recursive) {
      return Status(
          StatusCode::kInvalidArgument,
          fmt::format("'{}' is a bucket; add --recursive to delete all that is in it", uri));
    }
    locations.push_back(std::move(location));
  }
  if (!arguments.recursive && !MakeFilters(arguments.filters).empty()) {
    return Status(StatusCode::kInvalidArgument, "--include and --exclude need --recursive");
  }
  return locations;
}

int Rm(const RmArguments& arguments) {
  Interrupt interrupt;
  const Result<std::vector<Location>> locations = ParseArguments(arguments);
  if (!locations.ok()) return UsageError("rm", locations.status());
  int exit_code = kExitOk;
  const std::shared_ptr<Client> client = OpenClient("rm", arguments.common, &exit_code);
  if (!client) return exit_code;
  for (const Location& location : *locations) {
    if (arguments.recursive) break;
    const Status status = CheckNoFolder(location, *client, interrupt.token());
    if (!status.ok()) return UsageError("rm", status);
  }
  Reporter reporter("rm", arguments.common.output);
  {
    Remover remover(arguments, *client, reporter, interrupt.token());
    for (const Location& location : *locations) {
      if (arguments.recursive) {
        remover.AddFolder(location);
      } else {
        remover.Add(location.Text(), 0);
      }
    }
    remover.Finish();
  }
  return interrupt.Finish(reporter.Finish(client->Metrics()));
}

}  // namespace

void AddRm(CLI::App& app, std::function<void(Command)> chosen) {
  auto arguments = std::make_shared<RmArguments>();
  arguments->common.output.progress = false;
  CLI::App* rm = app.add_subcommand("rm", "Delete objects");
  rm->footer(kHelpFooter);
  rm->add_option("URI", arguments->uris, "s3://bucket/key; several may be given")->required();
  rm->add_flag("-r,--recursive", arguments->recursive, "all that is in these folders");
  rm->add_flag("--dryrun", arguments->dryrun, "only tell what would be deleted");
  rm->add_flag("--only-show-errors", arguments->common.output.only_show_errors,
               "no line for what went well")
      ->group("Output");
  AddFilterOptions(*rm, &arguments->filters);
  AddClientOptions(*rm, &arguments->common);
  AddOutputOptions(*rm, &arguments->common);
  rm->callback([arguments, chosen] { chosen([arguments] { return Rm(*arguments); }); });
}

}  // namespace headrace::cli
