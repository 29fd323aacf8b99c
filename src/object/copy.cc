#include "object/copy.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <vector>

#include "base/macros.h"
#include "object/complete.h"
#include "object/reader.h"
#include "object/writer.h"

namespace headrace::object {
namespace {

Result<std::string> CopyInParts(const Context& context, const store::Name& source,
                                const ObjectInfo& info, const store::Name& target,
                                const PutOptions& options, const std::stop_token& stop) {
  store::Store& store = *context.store;
  const store::Capabilities capabilities = store.capabilities();
  ASSIGN_OR_RETURN(const store::Upload upload, store.CreateUpload(target, options).Wait(stop));
  const auto max_parts = static_cast<std::uint64_t>(capabilities.max_parts);
  const std::uint64_t size = info.size;
  const std::uint64_t part_size =
      std::max({std::uint64_t{context.options.part_size}, capabilities.min_part_size,
                (size + max_parts - 1) / max_parts});
  std::vector<Pending<store::Part>> pending;
  for (std::uint64_t offset = 0; offset < size; offset += part_size) {
    pending.push_back(store.CopyPart(upload, static_cast<int>(pending.size()) + 1, source,
                                     {offset, std::min(part_size, size - offset)}, info.etag));
  }
  std::vector<store::Part> parts;
  Status failed;
  for (Pending<store::Part>& p : pending) {
    Result<store::Part> part = p.Wait(stop);
    if (!part.ok()) {
      failed = part.status();
      break;
    }
    parts.push_back(std::move(*part));
  }
  pending.clear();
  if (failed.ok()) {
    Result<std::string> etag = CompleteUpload(context, upload, parts, size, stop);
    if (etag.ok()) return etag;
    failed = etag.status();
  }
  (void)store.AbortUpload(upload).Wait({}, Deadline::After(std::chrono::seconds(10)));
  return failed;
}

}  // namespace

Result<std::string> CopyWithin(const Context& context, const store::Name& source,
                               const store::Name& target, const PutOptions& options,
                               const std::stop_token& stop) {
  store::Store& store = *context.store;
  ASSIGN_OR_RETURN(const ObjectInfo info, store.Stat(source).Wait(stop));
  const std::uint64_t at_once =
      std::min(context.options.copy_threshold, store.capabilities().max_put_size);
  const bool in_parts = info.size > at_once;
  // Where one of the two is given, the service takes both from us; where it copies parts, all.
  PutOptions kept = options;
  const bool from_us = in_parts || !options.content_type.empty() || !options.metadata.empty();
  if (from_us) {
    if (kept.content_type.empty()) kept.content_type = info.content_type;
    if (kept.metadata.empty()) kept.metadata = info.metadata;
  }
  if (!in_parts) {
    // A refusal of one of two conditions would not say of which.
    const std::string version = from_us && !options.if_none_match ? info.etag : "";
    return CopyWhole(context, source, info, target, kept, version, stop);
  }
  if (kept.tags.empty()) {
    Result<std::map<std::string, std::string>> tags = store.TagsOf(source).Wait(stop);
    if (!tags.ok()) return tags.status().WithContext("copying the tags of " + source.key);
    kept.tags = std::move(*tags);
  }
  kept.checksum_algorithm = "none";  // the service computes its own
  return CopyInParts(context, source, info, target, kept, stop);
}

Result<std::string> CopyBetween(const Context& source_context, const store::Name& source,
                                const Context& target_context, const store::Name& target,
                                const PutOptions& options, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const ObjectInfo info, source_context.store->Stat(source).Wait(stop));
  PutOptions kept = options;
  if (kept.content_type.empty()) kept.content_type = info.content_type;
  if (kept.metadata.empty()) kept.metadata = info.metadata;
  kept.expected_size = info.size;
  Reader reader(&source_context, source, {.size = info.size, .if_match = info.etag});
  Writer writer(&target_context, target, kept);
  std::uint64_t offset = 0;
  while (offset < info.size) {
    ASSIGN_OR_RETURN(const std::span<std::byte> room, writer.Room(stop));
    ASSIGN_OR_RETURN(const std::size_t n, reader.ReadAt(offset, room, stop));
    if (n == 0) {
      return Status(StatusCode::kProtocol,
                    fmt::format("{} ended before its {} bytes", source.key, info.size));
    }
    writer.Filled(n);
    offset += n;
  }
  return writer.Close(stop);
}

}  // namespace headrace::object
