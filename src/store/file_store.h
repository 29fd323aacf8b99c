// A Store over local files: a key is a path, and a bucket a folder above it.
#pragma once

#include <memory>

#include "base/buffer_pool.h"
#include "store/store.h"

namespace headrace::store {

// With an empty bucket the key is a path as the user wrote it. With a bucket (a folder), keys that
// a path cannot hold as they are ("//", "." and ".." components, a '/' at either end, NUL) are
// refused with kUnsupported. Files named ".headrace-..." are writes under way, or left by a process
// that died: they stand beside what they become, no listing shows them, and with a bucket their
// names are refused as keys. Calls do their work at once, on the calling thread. `buffers` outlives
// the store.
std::unique_ptr<Store> MakeFileStore(BufferPool* buffers);

}  // namespace headrace::store
