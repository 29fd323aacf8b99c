#include "commands/ls.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "headrace/client.h"
#include "support/common_options.h"
#include "support/interrupt.h"
#include "support/location.h"
#include "support/standard_streams.h"
#include "support/text.h"

namespace headrace::cli {
namespace {

struct LsArguments {
  CommonOptions common;
  std::string uri;
  bool recursive = false;
  bool human_readable = false;
  bool summarize = false;
};

constexpr const char* kHelpFooter = R"(Examples:
  headrace ls                            your buckets
  headrace ls s3://bucket/train/         the folder: objects, and PRE for folders below it
  headrace ls s3://bucket/train/n01      everything that starts so
  headrace ls --recursive --human-readable --summarize s3://bucket
  headrace ls --recursive --json s3://bucket/train/ | jq -r .key

Exit status: 0 when all was listed, be it no bucket at all or an empty one; 1 when nothing stands
under a prefix or the listing failed; 2 for wrong use. When the reader ends first (`| head`), ls dies
quietly of SIGPIPE, which is 141 in a shell. Without --json, control characters and backslashes in keys
are shown as \xNN and \\.)";

class Listing {
 public:
  Listing(const LsArguments& arguments, const Location& where, Output& out)
      : arguments_(arguments), where_(where), out_(out) {
    // Keys are shown below the folder that is listed, as `aws s3 ls` does.
    if (!arguments.recursive) shown_from_ = where.key.rfind('/') + 1;
  }

  void Add(const ListEntry& entry) {
    if (entry.is_prefix) {
      ++prefixes_;
    } else {
      ++objects_;
      bytes_ += entry.size;
    }
    if (arguments_.common.output.json) {
      AddJson(entry);
    } else if (!arguments_.common.output.quiet) {
      AddText(entry);
    }
  }

  bool found() const { return objects_ + prefixes_ > 0; }

  void Summarize(const Client& client) {
    if (arguments_.common.output.json) {
      nlohmann::json summary = {{"objects", objects_}, {"prefixes", prefixes_}, {"bytes", bytes_}};
      if (arguments_.common.output.stats) {
        for (const auto& [name, value] : client.Metrics()) summary["metrics"][name] = value;
      }
      out_.Line(Dump({{"summary", std::move(summary)}}));
      return;
    }
    if (arguments_.summarize) {
      const std::string total = arguments_.human_readable ? HumanBytes(static_cast<double>(bytes_))
                                                          : std::to_string(bytes_);
      out_.Line(fmt::format("\nTotal Objects: {}\n   Total Size: {}", objects_, total));
    }
    if (arguments_.common.output.stats) {
      for (const auto& [name, value] : client.Metrics()) PrintError("{} {}\n", name, value);
    }
  }

 private:
  void AddJson(const ListEntry& entry) {
    nlohmann::json line = {{"bucket", where_.bucket}};
    if (entry.is_prefix) {
      PutName(line, "prefix", entry.key);
    } else {
      PutName(line, "key", entry.key);
      line["size"] = entry.size;
      line["etag"] = entry.etag;
      line["last_modified"] = UtcTime(entry.last_modified);
      line["storage_class"] = entry.storage_class.empty() ? "STANDARD" : entry.storage_class;
    }
    out_.Line(Dump(line));
  }

  void AddText(const ListEntry& entry) {
    const std::string name = Printable(entry.key.substr(std::min(shown_from_, entry.key.size())));
    if (entry.is_prefix) {
      out_.Line(fmt::format("{:>30} {}", "PRE", name));
      return;
    }
    const std::string size = arguments_.human_readable ? HumanBytes(static_cast<double>(entry.size))
                                                       : std::to_string(entry.size);
    out_.Line(fmt::format("{} {:>10} {}", LocalTime(entry.last_modified), size, name));
  }

  const LsArguments& arguments_;
  const Location& where_;
  Output& out_;
  std::size_t shown_from_ = 0;
  std::uint64_t objects_ = 0;
  std::uint64_t prefixes_ = 0;
  std::uint64_t bytes_ = 0;
};

int Fail(Output& out, const Status& status) {
  out.Flush();
  PrintError("headrace ls: {}\n", ErrorText(status));
  return kExitFailed;
}

int ListBuckets(const LsArguments& arguments, Client& client, Output& out, std::stop_token stop) {
  Result<std::vector<std::string>> buckets = client.ListBuckets(std::move(stop));
  if (!buckets.ok()) return Fail(out, buckets.status());
  for (const std::string& bucket : *buckets) {
    out.Line(arguments.common.output.json ? Dump({{"bucket", bucket}}) : Printable(bucket));
  }
  if (arguments.common.output.json) out.Line(Dump({{"summary", {{"buckets", buckets->size()}}}}));
  return kExitOk;
}

int ListObjects(const LsArguments& arguments, const Location& where, Client& client, Output& out,
                std::stop_token stop) {
  ListOptions options;
  options.delimited = !arguments.recursive;
  Result<std::unique_ptr<Lister>> lister = client.List(where.Text(), options);
  if (!lister.ok()) return Fail(out, lister.status());
  Listing listing(arguments, where, out);
  for (;;) {
    Result<std::span<const ListEntry>> page = (*lister)->NextPage(stop);
    if (!page.ok()) return Fail(out, page.status());
    if (page->empty()) break;
    for (const ListEntry& entry : *page) listing.Add(entry);
    if (!out.ok()) return kExitOk;  // nobody reads the rest; Output::Finish() decides
  }
  listing.Summarize(client);
  if (listing.found() || where.key.empty()) return kExitOk;
  return Fail(out, Status(StatusCode::kNotFound,
                          fmt::format("nothing stands under {}", Printable(where.Text()))));
}

int Ls(const LsArguments& arguments) {
  Interrupt interrupt;
  int exit_code = kExitOk;
  Location where;
  const bool buckets = arguments.uri.empty() || arguments.uri == "s3://";
  if (!buckets) {
    Result<Location> parsed = ParseS3(arguments.uri);
    if (!parsed.ok()) return UsageError("ls", parsed.status());
    where = *std::move(parsed);
  }
  const std::shared_ptr<Client> client = OpenClient("ls", arguments.common, &exit_code);
  if (!client) return exit_code;
  Output out(stdout);
  exit_code = buckets ? ListBuckets(arguments, *client, out, interrupt.token())
                      : ListObjects(arguments, where, *client, out, interrupt.token());
  return interrupt.Finish(out.Finish("headrace ls", exit_code));
}

}  // namespace

void AddLs(CLI::App& app, std::function<void(Command)> chosen) {
  auto arguments = std::make_shared<LsArguments>();
  CLI::App* ls = app.add_subcommand("ls", "List buckets, or what stands under a prefix");
  ls->footer(kHelpFooter);
  ls->add_option("URI", arguments->uri, "s3://bucket/prefix; your buckets when left out");
  ls->add_flag("-r,--recursive", arguments->recursive, "everything below, with whole keys");
  ls->add_flag("--human-readable", arguments->human_readable, "sizes as 1.5 KiB");
  ls->add_flag("--summarize", arguments->summarize,
               "the number of objects and their size at the end");
  AddClientOptions(*ls, &arguments->common);
  AddOutputOptions(*ls, &arguments->common);
  ls->callback([arguments, chosen] { chosen([arguments] { return Ls(*arguments); }); });
}

}  // namespace headrace::cli
