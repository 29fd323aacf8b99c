#include <functional>
#include <string>
#include <utility>

#include "commands/cp_context.h"
#include "support/text.h"

namespace headrace::cli {
namespace {

void CopyOne(const CpContext& context, std::string source, std::string target, std::uint64_t size) {
  context.reporter.Planned(size);
  if (context.arguments.dryrun) return context.reporter.DryRun("copy", source, target, size);
  context.Submit([&context, source = std::move(source), target = std::move(target), size] {
    const Status status =
        context.client.Copy(source, target, context.arguments.put, context.stop).status();
    if (!status.ok()) return context.reporter.Failed("copy", source, target, status);
    context.reporter.Moved(size);
    context.reporter.Done("copy", source, target, size);
  });
}

}  // namespace

void CpWithinS3(const CpContext& context, const Location& source, const Location& target) {
  if (!context.arguments.recursive) {
    Location to = target;
    to.key = TargetKey(target, Basename(source.key));
    // The size is told when it is known at once; a copy does not need it.
    Result<ObjectInfo> info = context.client.Head(source.Text(), context.stop);
    if (!info.ok()) {
      return context.reporter.Failed("copy", source.Text(), to.Text(), info.status());
    }
    return CopyOne(context, source.Text(), to.Text(), info->size);
  }
  const Location from = AsFolder(source);
  const Location into = AsFolder(target);
  ForEachObject(context, from, [&](const ListEntry& entry, std::string_view relative) {
    Location one = from;
    one.key = entry.key;
    Location to = into;
    to.key += relative;
    CopyOne(context, one.Text(), to.Text(), entry.size);
    return true;
  });
}

}  // namespace headrace::cli
