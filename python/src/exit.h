// What is left to do when the interpreter is gone: daemon threads never drop their writers, and an
// upload left open costs its owner money.
#pragma once

#include "streams.h"

namespace headrace::python {

// Aborts `writer` then, unless it is gone. REQUIRES: the GIL.
void AbortAtExit(const HeldWriter& writer);

// When the module is loaded: at the exit, calls under way may end, and open writers are aborted,
// within a few seconds.
void WatchExit();

}  // namespace headrace::python
