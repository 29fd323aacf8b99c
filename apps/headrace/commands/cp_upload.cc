#include <cerrno>
#include <fmt/format.h>
#include <string>
#include <sys/stat.h>
#include <utility>

#include "base/file_io.h"
#include "commands/cp_context.h"
#include "support/content_type.h"
#include "support/local_tree.h"
#include "support/text.h"

namespace headrace::cli {
namespace {

void UploadOne(const CpContext& context, LocalFile file, std::string target) {
  context.reporter.Planned(file.size);
  if (context.arguments.dryrun) {
    return context.reporter.DryRun("upload", file.path, target, file.size);
  }
  context.Submit([&context, file = std::move(file), target = std::move(target)] {
    PutOptions put = context.arguments.put;
    if (put.content_type.empty() && context.arguments.guess_type) {
      put.content_type = GuessContentType(file.path);
    }
    const Status status =
        context.client
            .Upload(file.path, target, put, context.stop,
                    [&context](std::uint64_t bytes) { context.reporter.Moved(bytes); })
            .status();
    if (!status.ok()) return context.reporter.Failed("upload", file.path, target, status);
    context.reporter.Done("upload", file.path, target, file.size);
  });
}

}  // namespace

void CpUpload(const CpContext& context, const Location& source, const Location& target) {
  if (context.arguments.recursive) {
    const Location into = AsFolder(target);
    auto found = [&](LocalFile file) {
      if (!context.filters.Accepts(file.relative)) return true;
      Location to = into;
      to.key += file.relative;
      UploadOne(context, std::move(file), to.Text());
      return !context.stop.stop_requested();
    };
    auto failed = [&](const std::string& path, Status status) {
      context.reporter.Failed("upload", path, "", status);
    };
    return WalkTree(source.path, context.arguments.tree, context.stop, found, failed);
  }
  Location to = target;
  to.key = TargetKey(target, Basename(source.path));
  struct stat info {};
  if (::stat(source.path.c_str(), &info) != 0) {
    return context.reporter.Failed("upload", source.path, to.Text(),
                                   ErrnoStatus(errno, "opening the file"));
  }
  if (!S_ISREG(info.st_mode)) {
    return context.reporter.Failed(
        "upload", source.path, to.Text(),
        Status(StatusCode::kInvalidArgument,
               S_ISDIR(info.st_mode)
                   ? "it is a folder; add --recursive"
                   : "it is a device, pipe or socket; pipe it in: headrace cp - URI"));
  }
  UploadOne(context, {"", source.path, static_cast<std::uint64_t>(info.st_size)}, to.Text());
}

}  // namespace headrace::cli
