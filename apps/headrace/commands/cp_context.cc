#include "commands/cp_context.h"

#include <fmt/format.h>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "support/text.h"

namespace headrace::cli {

void CpContext::Submit(TransferPool::Task task) const {
  pool.Submit([this, task = std::move(task)] {
    if (reporter.Hopeless()) return reporter.NotTried();
    task();
  });
}

Location AsFolder(const Location& location) {
  Location folder = location;
  if (!folder.key.empty() && !folder.key.ends_with('/')) folder.key += '/';
  return folder;
}

std::string TargetKey(const Location& target, std::string_view name) {
  if (!target.key.empty() && !target.key.ends_with('/')) return target.key;
  return target.key + std::string(name);
}

void ForEachObject(
    const CpContext& context, const Location& folder,
    const std::function<bool(const ListEntry& entry, std::string_view relative)>& found) {
  Result<std::unique_ptr<Lister>> lister = context.client.List(folder.Text());
  if (!lister.ok()) return context.reporter.Error(lister.status());
  bool any = false;
  for (;;) {
    Result<std::span<const ListEntry>> page = (*lister)->NextPage(context.stop);
    if (!page.ok()) return context.reporter.Error(page.status());
    if (page->empty()) break;
    any = true;
    for (const ListEntry& entry : *page) {
      const std::string_view relative = entry.key.substr(folder.key.size());
      if (context.filters.Accepts(relative) && !found(entry, relative)) return;
    }
  }
  if (!any) {
    context.reporter.Error(Status(
        StatusCode::kNotFound, fmt::format("nothing stands under {}", Printable(folder.Text()))));
  }
}

}  // namespace headrace::cli
