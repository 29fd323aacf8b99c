#include <string>
#include <unistd.h>

#include "commands/cp_context.h"
#include "support/streams.h"

namespace headrace::cli {

void CpFromStream(const CpContext& context, const Location& target) {
  const std::string uri = target.Text();
  context.reporter.Planned(context.arguments.put.expected_size.value_or(0));
  if (context.arguments.dryrun) return context.reporter.DryRun("upload", "-", uri, 0);
  Result<std::uint64_t> bytes =
      StreamIn(context.client, STDIN_FILENO, uri, context.arguments.put, context.stop,
               [&context](std::uint64_t n) { context.reporter.Moved(n); });
  if (!bytes.ok()) return context.reporter.Failed("upload", "-", uri, bytes.status());
  context.reporter.Done("upload", "-", uri, *bytes);
}

void CpToStream(const CpContext& context, const Location& source) {
  const std::string uri = source.Text();
  context.reporter.Planned(0);
  if (context.arguments.dryrun) return context.reporter.DryRun("download", uri, "-", 0);
  std::uint64_t bytes = 0;
  const Status status =
      StreamOut(context.client, uri, {}, STDOUT_FILENO, context.stop, [&](std::uint64_t n) {
        bytes += n;
        context.reporter.Moved(n);
      });
  if (!status.ok()) return context.reporter.Failed("download", uri, "-", status);
  context.reporter.Done("download", uri, "-", bytes);
}

}  // namespace headrace::cli
