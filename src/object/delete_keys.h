// Objects that go, many at once.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "object/context.h"

namespace headrace::object {

// One Status per key, in order. Batches where the service has them; a key that a batch cannot carry
// is deleted by itself.
std::vector<Status> DeleteKeys(const Context& context, std::span<const store::Name> names,
                               const std::stop_token& stop);

}  // namespace headrace::object
