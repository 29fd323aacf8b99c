// A local file into an object.
#pragma once

#include <stop_token>
#include <string>

#include "object/context.h"

namespace headrace::object {

// Uploads the file at `path`; the object's bare ETag.
Result<std::string> UploadFile(const Context& context, const std::string& path, store::Name name,
                               const PutOptions& options, const std::stop_token& stop,
                               const Progress& progress);

}  // namespace headrace::object
