// Noticing that this process is a fork of the one that made an object.
//
// A forked child has the parent's memory but none of its threads, and a mutex that another thread
// held at the fork stays locked for ever. So a child never touches what it inherited: it compares
// the generation an object was made in with the present one, and lets go of the object without a
// destructor.
#pragma once

#include <cstdint>

namespace headrace {

// 0 in the first process, one more in each fork's child. The one process-wide counter of the
// engine: pthread_atfork has no argument to carry an owner. Async-signal-safe, a few nanoseconds.
std::uint64_t ForkGeneration();

}  // namespace headrace
