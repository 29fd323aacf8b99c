// The engine's options from dictionaries of keyword arguments.
#pragma once

#include "call.h"
#include "headrace/options.h"

namespace headrace::python {

// Keys are the field names; durations are seconds. TypeError names a key that there is not.
ClientOptions ToClientOptions(const nb::dict& options);
PutOptions ToPutOptions(const nb::dict& options);

}  // namespace headrace::python
