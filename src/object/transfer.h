// Whole objects between a store and local files, and between two places in stores.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "object/context.h"

namespace headrace::object {

using Progress = std::function<void(std::uint64_t bytes)>;  // more bytes were moved

// Uploads the file at `path`; the object's bare ETag.
Result<std::string> UploadFile(const Context& context, const std::string& path, store::Name name,
                               const PutOptions& options, const std::stop_token& stop,
                               const Progress& progress);

// Downloads into `fd` from its offset 0 on, in parallel parts as the budget allows.
Result<ObjectInfo> DownloadFile(const Context& context, store::Name name, int fd,
                                const GetOptions& options, const std::stop_token& stop,
                                const Progress& progress);

// Within one store: by the service, in parts above what it copies at once. Content type, metadata
// and tags that `options` does not give are the source's. What else S3 keeps with an object
// (Cache-Control, Content-Encoding and their like) goes along only where nothing is given and the
// service copies at once.
Result<std::string> CopyWithin(const Context& context, const store::Name& source,
                               const store::Name& target, const PutOptions& options,
                               const std::stop_token& stop);
// Between stores: through this process. Content type and metadata as above; tags stay behind.
Result<std::string> CopyBetween(const Context& source_context, const store::Name& source,
                                const Context& target_context, const store::Name& target,
                                const PutOptions& options, const std::stop_token& stop);

// One Status per key, in order. Batches where the service has them; a key that a batch cannot carry
// is deleted by itself.
std::vector<Status> DeleteKeys(const Context& context, std::span<const store::Name> names,
                               const std::stop_token& stop);

}  // namespace headrace::object
