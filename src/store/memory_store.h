// A Store in this process's memory: for tests, and for programs that want to try without a service.
#pragma once

#include <memory>

#include "store/store.h"

namespace headrace::store {

// Buckets and objects live as long as the store. Everything is answered at once.
std::unique_ptr<Store> MakeMemoryStore();

}  // namespace headrace::store
