#include "commands/cp.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/macros.h"
#include "commands/cp_context.h"
#include "support/interrupt.h"
#include "support/standard_streams.h"
#include "support/text.h"

namespace headrace::cli {
namespace {

constexpr std::size_t kDefaultTransfers = 64;  // objects at once
constexpr std::size_t kMaxTransfers = 256;

constexpr const char* kHelpFooter = R"(Examples:
  headrace cp model.pt s3://bucket/models/          one file; the name is kept
  headrace cp s3://bucket/models/model.pt .
  headrace cp --recursive data/ s3://bucket/train/
  headrace cp --recursive --exclude '*' --include '*.jpg' s3://bucket/train/ data/
  headrace cp --recursive s3://bucket/train/ s3://other/train/
  tar c data | headrace cp - s3://bucket/data.tar --expected-size 200GiB
  headrace cp s3://bucket/data.tar - | tar x

With --recursive both sides are folders. A download appears under its name only when it is whole, and
never outside the target folder: keys with '..', '//' or a leading '/', and those that lead through a
symbolic link, are refused and listed. It keeps the permissions of the file that it replaces. A target
such as /dev/stdout, a pipe or a device is written to. With --no-overwrite every file, pipe or device
that stands there stays as it is and counts as failed; - and open descriptors are written to.
Ctrl-C leaves no half file, and no open upload but one that the service had not confirmed yet; kill -9
and a crash leave .headrace-PID-NUMBER.part files in the target folder, which may be deleted, and
uploads that a lifecycle rule of the bucket should end.

Exit status: 0 when all was copied, 1 when some of it was not, 2 for wrong use (nothing was done);
after Ctrl-C the command dies of the signal, and of SIGPIPE (141 in a shell) when nobody reads what it
prints: then an object on standard output breaks off, and other copies are finished before.)";

Status Usage(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}

// "a=b,c=d", once or several times.
Status ReadMetadata(const std::vector<std::string>& given,
                    std::map<std::string, std::string>* into) {
  for (const std::string& list : given) {
    for (std::string_view rest = list; !rest.empty();) {
      const std::string_view pair = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos || equals == 0) {
        return Usage(fmt::format("--metadata '{}': write NAME=VALUE,NAME=VALUE", list));
      }
      (*into)[std::string(pair.substr(0, equals))] = pair.substr(equals + 1);
    }
  }
  return {};
}

// The sizes and the metadata, from text into the options.
Status ReadValues(CpArguments* arguments) {
  auto read = [](const char* option, const std::string& text, auto* into) -> Status {
    if (text.empty()) return {};
    const Result<std::uint64_t> bytes = ParseBytes(text);
    if (!bytes.ok()) return bytes.status().WithContext(option);
    *into = *bytes;
    return {};
  };
  ClientOptions& client = arguments->common.client;
  RETURN_IF_ERROR(read("--part-size", arguments->part_size, &client.part_size));
  RETURN_IF_ERROR(
      read("--multipart-threshold", arguments->multipart_threshold, &client.multipart_threshold));
  RETURN_IF_ERROR(read("--expected-size", arguments->expected_size, &arguments->put.expected_size));
  return ReadMetadata(arguments->metadata, &arguments->put.metadata);
}

bool IsFolder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool Exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

// What --recursive asks of both sides.
Status CheckFolders(const Location& source, const Location& target) {
  using Kind = Location::Kind;
  if (source.kind == Kind::kStream || target.kind == Kind::kStream) {
    return Usage("--recursive cannot read or write '-'");
  }
  if (source.kind == Kind::kLocal && Exists(source.path) && !IsFolder(source.path)) {
    return Usage(fmt::format("'{}' is not a folder; leave out --recursive", source.path));
  }
  if (target.kind == Kind::kLocal && Exists(target.path) && !IsFolder(target.path)) {
    return Usage(fmt::format("'{}' is not a folder, as --recursive needs", target.path));
  }
  return {};
}

// What a copy of one object or file asks of both sides.
Status CheckSingle(const CpArguments& arguments, const Location& source, const Location& target) {
  using Kind = Location::Kind;
  if (!MakeFilters(arguments.filters).empty()) {
    return Usage("--include and --exclude need --recursive");
  }
  if (source.kind == Kind::kLocal && IsFolder(source.path)) {
    return Usage(fmt::format("'{}' is a folder; add --recursive", source.path));
  }
  if (source.is_s3() && source.key.empty()) {
    return Usage(fmt::format("'{}' is a bucket; add --recursive", arguments.source));
  }
  if (source.is_s3() && source.key.ends_with('/') && target.kind == Kind::kLocal) {
    return Usage(fmt::format("'{}' names a folder; add --recursive", arguments.source));
  }
  if (source.kind == Kind::kStream && (target.key.empty() || target.key.ends_with('/'))) {
    return Usage(fmt::format("standard input has no name; write s3://bucket/key, not '{}'",
                             arguments.target));
  }
  return {};
}

bool ChangesObject(const PutOptions& put) {
  return !put.content_type.empty() || !put.metadata.empty() || !put.storage_class.empty() ||
         !put.server_side_encryption.empty() || !put.kms_key_id.empty();
}

// kInvalidArgument for a folder into itself, which would copy its own copies, and for an object or
// folder onto itself without a change, which S3 refuses.
Status CheckOverlap(const CpArguments& arguments, const Location& source, const Location& target) {
  if (!source.is_s3() || !target.is_s3() || source.bucket != target.bucket) return {};
  const std::string from = arguments.recursive ? AsFolder(source).key : source.key;
  const std::string into =
      arguments.recursive ? AsFolder(target).key : TargetKey(target, Basename(source.key));
  if (from == into) {
    if (ChangesObject(arguments.put)) return {};
    return Usage(
        fmt::format("'{}' and '{}' are the same; a copy onto itself must change something: "
                    "--metadata, --content-type, --storage-class or --sse",
                    arguments.source, arguments.target));
  }
  if (arguments.recursive && into.starts_with(from)) {
    return Usage(fmt::format("cannot copy '{}' into itself: '{}' is below it", arguments.source,
                             arguments.target));
  }
  return {};
}

// kInvalidArgument unless the two can be copied from one to the other.
Status CheckPair(const CpArguments& arguments, const Location& source, const Location& target) {
  using Kind = Location::Kind;
  if (!source.is_s3() && !target.is_s3()) {
    return Usage(
        fmt::format("neither '{}' nor '{}' is an S3 address: write s3://bucket/key for what is "
                    "in a bucket (the system's own cp copies local files)",
                    arguments.source, arguments.target));
  }
  if (arguments.verify && target.kind == Kind::kStream) return Usage(kNoVerifyInPlace);
  RETURN_IF_ERROR(arguments.recursive ? CheckFolders(source, target)
                                      : CheckSingle(arguments, source, target));
  return CheckOverlap(arguments, source, target);
}

void Transfer(const CpContext& context, const Location& source, const Location& target) {
  using Kind = Location::Kind;
  if (source.kind == Kind::kStream) {
    CpFromStream(context, target);
  } else if (target.kind == Kind::kStream) {
    CpToStream(context, source);
  } else if (source.is_s3() && target.is_s3()) {
    CpWithinS3(context, source, target);
  } else if (source.is_s3()) {
    CpDownload(context, source, target);
  } else {
    CpUpload(context, source, target);
  }
}

int Cp(CpArguments& arguments) {
  Interrupt interrupt;
  if (Status status = ReadValues(&arguments); !status.ok()) return UsageError("cp", status);
  Result<Location> source = ParseLocation(arguments.source);
  if (!source.ok()) return UsageError("cp", source.status());
  Result<Location> target = ParseLocation(arguments.target);
  if (!target.ok()) return UsageError("cp", target.status());
  if (target->kind == Location::Kind::kLocal && DescriptorOf(target->path) == STDOUT_FILENO) {
    target = Location{.kind = Location::Kind::kStream};  // /dev/stdout
  }
  if (Status status = CheckPair(arguments, *source, *target); !status.ok()) {
    return UsageError("cp", status);
  }
  // Standard output carries the object then.
  if (target->kind == Location::Kind::kStream) arguments.common.output.out = stderr;

  int exit_code = kExitOk;
  const std::shared_ptr<Client> client = OpenClient("cp", arguments.common, &exit_code);
  if (!client) return exit_code;
  const int wanted = arguments.common.client.max_in_flight;
  const std::size_t threads =
      wanted > 0 ? std::min(kMaxTransfers, static_cast<std::size_t>(wanted)) : kDefaultTransfers;
  const Filters filters = MakeFilters(arguments.filters);
  Reporter reporter("cp", arguments.common.output);
  TransferPool pool(threads, interrupt.token());
  const CpContext context{arguments, filters, *client, reporter, pool, interrupt.token()};
  Transfer(context, *source, *target);
  reporter.AllPlanned();
  pool.Drain();
  return interrupt.Finish(reporter.Finish(client->Metrics()));
}

void AddObjectOptions(CLI::App& cp, const std::shared_ptr<CpArguments>& arguments) {
  const char* object = "The new object";
  PutOptions& put = arguments->put;
  cp.add_option("--content-type", put.content_type, "guessed from the name unless given")
      ->group(object);
  cp.add_flag_callback(
        "--no-guess-mime-type", [arguments] { arguments->guess_type = false; }, "do not guess it")
      ->group(object);
  cp.add_option("--metadata", arguments->metadata, "NAME=VALUE,NAME=VALUE")
      ->allow_extra_args(false)
      ->group(object);
  cp.add_option("--storage-class", put.storage_class, "such as STANDARD_IA")->group(object);
  cp.add_option("--sse", put.server_side_encryption, "AES256 or aws:kms")->group(object);
  cp.add_option("--sse-kms-key-id", put.kms_key_id, "key for aws:kms")->group(object);
  cp.add_option("--checksum-algorithm", put.checksum_algorithm, "crc32c, crc64nvme or crc32")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, std::string>{
              {"crc32c", "crc32c"}, {"crc64nvme", "crc64nvme"}, {"crc32", "crc32"}},
          CLI::ignore_case))
      ->group(object);
}

void AddPartOptions(CLI::App& cp, CpArguments& arguments) {
  const char* parts = "Parts";
  cp.add_option("--part-size", arguments.part_size, "bytes per part and ranged GET, such as 16MiB")
      ->group(parts);
  cp.add_option("--multipart-threshold", arguments.multipart_threshold,
                "uploads above this are multipart, such as 64MiB")
      ->group(parts);
  cp.add_option("--expected-size", arguments.expected_size,
                "what standard input will bring at most, such as 200GiB")
      ->group(parts);
}

void AddReportOptions(CLI::App& cp, const std::shared_ptr<CpArguments>& arguments) {
  AddOutputOptions(cp, &arguments->common);
  cp.add_flag("--only-show-errors", arguments->common.output.only_show_errors,
              "no line for what went well")
      ->group("Output");
  cp.add_flag_callback(
        "--no-progress", [arguments] { arguments->common.output.progress = false; },
        "no progress line")
      ->group("Output");
}

}  // namespace

void AddCp(CLI::App& app, std::function<void(Command)> chosen) {
  auto arguments = std::make_shared<CpArguments>();
  CLI::App* cp = app.add_subcommand("cp", "Copy between this machine and S3, and within S3");
  cp->footer(kHelpFooter);
  cp->add_option("SOURCE", arguments->source,
                 "s3://bucket/key, a local path, or - for standard input")
      ->required();
  cp->add_option("TARGET", arguments->target,
                 "s3://bucket/key, a local path, or - for standard output")
      ->required();
  cp->add_flag("-r,--recursive", arguments->recursive, "all that is in the source folder");
  cp->add_flag("--dryrun", arguments->dryrun, "only tell what would be copied");
  cp->add_flag("--verify", arguments->verify,
               "check downloads against the checksums stored with the objects");
  cp->add_flag_callback(
      "--no-overwrite", [arguments] { arguments->put.if_none_match = true; },
      "fail where an object or a file stands already");
  cp->add_flag_callback(
      "--no-follow-symlinks", [arguments] { arguments->tree.follow_links = false; },
      "leave out symbolic links");
  AddFilterOptions(*cp, &arguments->filters);
  AddObjectOptions(*cp, arguments);
  AddPartOptions(*cp, *arguments);
  AddClientOptions(*cp, &arguments->common);
  AddReportOptions(*cp, arguments);
  cp->callback([arguments, chosen] { chosen([arguments] { return Cp(*arguments); }); });
}

}  // namespace headrace::cli
