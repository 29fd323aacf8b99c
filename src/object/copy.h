// Objects from one place in a store to another, or to another store.
#pragma once

#include <stop_token>
#include <string>

#include "object/context.h"

namespace headrace::object {

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

}  // namespace headrace::object
