#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <utility>

#include "base/file_io.h"
#include "base/macros.h"
#include "commands/cp_context.h"
#include "support/standard_streams.h"
#include "support/streams.h"
#include "support/target_folder.h"
#include "support/text.h"

namespace headrace::cli {
namespace {

// What a listing said of an object; empty for one that was named.
struct Known {
  std::optional<std::uint64_t> size;
  std::string etag;
};

Result<std::uint64_t> Fetch(const CpContext& context, const std::string& uri, const Known& known,
                            TargetFolder& folder, std::string_view relative) {
  ASSIGN_OR_RETURN(NewFile file, folder.Create(relative));
  GetOptions options;
  options.size = known.size;
  options.if_match = known.etag;
  options.verify = context.arguments.verify;
  auto moved = [&context](std::uint64_t bytes) { context.reporter.Moved(bytes); };
  Result<ObjectInfo> info = context.client.Download(uri, file.fd(), options, context.stop, moved);
  if (!info.ok()) return info.status();
  RETURN_IF_ERROR(file.Publish(info->last_modified));
  return info->size;
}

Result<std::unique_ptr<TargetFolder>> OpenTarget(const CpContext& context,
                                                 const std::string& path) {
  return TargetFolder::Open(
      path, context.arguments.put.if_none_match ? Existing::kKeep : Existing::kReplace);
}

// What stands under no key may be a folder.
Status Hinted(const CpContext& context, const Status& status) {
  if (context.arguments.recursive || status.code() != StatusCode::kNotFound) return status;
  return Status(status.code(), status.message() + "; if it is a folder, add --recursive",
                status.info());
}

void DownloadOne(const CpContext& context, std::shared_ptr<TargetFolder> folder, std::string uri,
                 std::string relative, std::string shown, Known known) {
  context.reporter.Planned(known.size.value_or(0));
  if (context.arguments.dryrun) {
    return context.reporter.DryRun("download", uri, shown, known.size.value_or(0));
  }
  context.Submit([&context, folder = std::move(folder), uri = std::move(uri),
                  relative = std::move(relative), shown = std::move(shown),
                  known = std::move(known)] {
    Result<std::uint64_t> size = Fetch(context, uri, known, *folder, relative);
    // Replaced since it was listed: then the new version is what is wanted.
    const bool replaced = size.status().code() == StatusCode::kObjectChanged;
    if (replaced && known.size) size = Fetch(context, uri, {}, *folder, relative);
    if (!size.ok())
      return context.reporter.Failed("download", uri, shown, Hinted(context, size.status()));
    context.reporter.Done("download", uri, shown, *size);
  });
}

std::string Joined(const std::string& folder, std::string_view relative) {
  return folder.empty() || folder.ends_with('/') ? folder + std::string(relative)
                                                 : fmt::format("{}/{}", folder, relative);
}

void DownloadFolder(const CpContext& context, const Location& source, const std::string& path) {
  std::shared_ptr<TargetFolder> folder;
  const Location from = AsFolder(source);
  ForEachObject(context, from, [&](const ListEntry& entry, std::string_view relative) {
    if (!folder && !context.arguments.dryrun) {  // not before there is something to put into it
      Result<std::unique_ptr<TargetFolder>> opened = OpenTarget(context, path);
      if (!opened.ok()) {
        context.reporter.Error(opened.status());
        return false;
      }
      folder = std::move(*opened);
    }
    if (entry.size == 0 && (relative.empty() || relative.ends_with('/')))
      return true;  // a folder's marker
    Location one = from;
    one.key = entry.key;
    const std::string shown = Joined(path, relative);
    if (const Status status = CheckRelativePath(relative); !status.ok()) {
      context.reporter.Failed("download", one.Text(), shown, status);
      return true;
    }
    DownloadOne(context, folder, one.Text(), std::string(relative), shown,
                {entry.size, std::string(entry.etag)});
    return true;
  });
}

// Into a device, a pipe or an open descriptor, which no rename may replace.
void DownloadInPlace(const CpContext& context, const std::string& uri, const std::string& path,
                     std::optional<int> descriptor) {
  if (context.arguments.verify) {
    return context.reporter.Failed("download", uri, path,
                                   Status(StatusCode::kInvalidArgument, kNoVerifyInPlace));
  }
  // An open descriptor has no name that could be taken.
  if (context.arguments.put.if_none_match && !descriptor) {
    return context.reporter.Failed(
        "download", uri, path,
        Status(StatusCode::kAlreadyExists, fmt::format("'{}' exists already", Printable(path))));
  }
  if (context.arguments.dryrun) return context.reporter.DryRun("download", uri, path, 0);
  // A descriptor is used as it stands: opening its file again would begin at the file's start.
  const ScopedFd fd(descriptor ? ::fcntl(*descriptor, F_DUPFD_CLOEXEC, 0)
                               : ::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return context.reporter.Failed("download", uri, path, ErrnoStatus(errno, "opening the target"));
  }
  std::uint64_t bytes = 0;
  const Status status =
      StreamOut(context.client, uri, {}, fd.get(), context.stop, [&](std::uint64_t n) {
        bytes += n;
        context.reporter.Moved(n);
      });
  if (!status.ok()) return context.reporter.Failed("download", uri, path, status);
  context.reporter.Done("download", uri, path, bytes);
}

}  // namespace

void CpDownload(const CpContext& context, const Location& source, const Location& target) {
  if (context.arguments.recursive) return DownloadFolder(context, source, target.path);
  const std::string uri = source.Text();
  if (const std::optional<int> descriptor = DescriptorOf(target.path)) {
    return DownloadInPlace(context, uri, target.path, descriptor);
  }
  std::error_code error;
  std::filesystem::path path(target.path);
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status) || target.path.ends_with('/')) {
    const std::string_view name = Basename(source.key);
    if (const Status named = CheckRelativePath(name); !named.ok()) {
      return context.reporter.Failed("download", uri, target.path, named);
    }
    path /= name;
  } else if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return DownloadInPlace(context, uri, target.path, std::nullopt);
  } else if (std::filesystem::exists(status)) {
    path = std::filesystem::canonical(path, error);  // a link to a file: the file is replaced
  }
  std::shared_ptr<TargetFolder> folder;
  if (!context.arguments.dryrun) {
    Result<std::unique_ptr<TargetFolder>> opened = OpenTarget(context, path.parent_path().string());
    if (!opened.ok())
      return context.reporter.Failed("download", uri, path.string(), opened.status());
    folder = std::move(*opened);
  }
  DownloadOne(context, std::move(folder), uri, path.filename().string(), path.string(), {});
}

}  // namespace headrace::cli
