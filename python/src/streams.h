#pragma once

#include <chrono>

#include "client.h"

namespace headrace::python {

using HeldReader = Held<Reader>;
using HeldWriter = Held<Writer>;
using HeldBatch = Held<GetBatch>;
using HeldLister = Held<Lister>;

// Seconds since 1970, as Python's time.time() counts them.
double ToSeconds(std::chrono::system_clock::time_point time);

}  // namespace headrace::python
