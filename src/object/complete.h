// Ending a write so that its outcome is known, even where an answer got lost.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "object/context.h"

namespace headrace::object {

// Puts a whole object and returns its ETag. A create-only put that is sent again after a lost
// answer finds its own object: that is no error.
Result<std::string> PutWhole(const Context& context, const store::Name& name, const Buffer& data,
                             const PutOptions& options, const std::stop_token& stop);

// Copies a whole object within the store and returns the copy's ETag; as to create-only, likewise.
// `source_etag`: as Store::Copy's.
Result<std::string> CopyWhole(const Context& context, const store::Name& source,
                              const ObjectInfo& source_info, const store::Name& target,
                              const PutOptions& options, const std::string& source_etag,
                              const std::stop_token& stop);

// Makes an object of `size` bytes out of the parts, and returns its ETag.
//
// The answer to a Complete can get lost after the service acted on it, and asked again the service
// no longer knows the upload. Then what stands there now is compared with the parts, by its ETag or
// by its checksum; where neither can tell, the error stays.
Result<std::string> CompleteUpload(const Context& context, const store::Upload& upload,
                                   const std::vector<store::Part>& parts, std::uint64_t size,
                                   const std::stop_token& stop);

}  // namespace headrace::object
