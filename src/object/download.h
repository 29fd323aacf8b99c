// An object into a local file: ranged GETs side by side, written in order.
#pragma once

#include <stop_token>

#include "object/context.h"

namespace headrace::object {

// Downloads into `fd` from its offset 0 on, in parallel parts as the budget allows. Its parts are
// of one version: kObjectChanged when another one answers.
Result<ObjectInfo> DownloadFile(const Context& context, store::Name name, int fd,
                                const GetOptions& options, const std::stop_token& stop,
                                const Progress& progress);

}  // namespace headrace::object
