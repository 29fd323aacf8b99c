// From what the user said to what the engine runs with.
#pragma once

#include "headrace/options.h"
#include "headrace/status.h"
#include "s3/engine.h"

namespace headrace::api {

// kInvalidArgument, naming the option and the cure, for values that cannot be or contradict each
// other.
Status Validate(const ClientOptions& options);
// Of a client and of a batch: kInvalidArgument for a negative number.
Status CheckMaxInFlight(int max_in_flight);
// As said, else LOCAL_WORLD_SIZE, else 1.
int ProcessesOnHost(const ClientOptions& options);
// Bytes, as said or by default.
std::size_t MemoryLimit(const ClientOptions& options);
// Looks at the environment and the configuration files; asks the instance's metadata for the region
// only when nothing else tells it.
Result<s3::EngineOptions> ResolveEngineOptions(const ClientOptions& options, const Clock* clock);

}  // namespace headrace::api
