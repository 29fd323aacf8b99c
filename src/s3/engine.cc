#include "s3/engine.h"

#include <algorithm>
#include <random>
#include <sys/resource.h>

namespace headrace::s3 {
namespace {

// Requests in flight before anything is known of the service, of a host and at least of a process.
constexpr int kStartInFlight = 32;
constexpr int kLeastStart = 8;

// Half the descriptors that the process may open, at most 1,024: the rest is the program's.
int InFlightCeiling() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur / 2, 1024));
}

}  // namespace

Engine::Engine(EngineOptions options, BufferPool* buffers, const Clock* clock)
    : endpoints_(std::move(options.endpoint)),
      wire_(std::move(options.wire)),
      policy_(options.policy),
      resolver_(clock),
      credentials_(options.credentials
                       ? std::make_unique<CredentialsCache>(std::move(options.credentials), clock)
                       : nullptr) {
  context_ = {.resolver = &resolver_,
              .credentials = credentials_.get(),
              .endpoints = &endpoints_,
              .buffers = buffers,
              .clock = clock,
              .metrics = &metrics_,
              .retry_budget = &retry_budget_,
              .wire = &wire_,
              .policy = &policy_,
              .transport = options.transport};
  // The numbers are the host's; what they come to is this process's, and then each loop's part.
  const int fixed = options.max_in_flight;
  const int processes = std::max(options.processes_on_host, 1);
  const int start = std::max(kStartInFlight / processes, kLeastStart);
  const int ceiling = std::max(InFlightCeiling() / processes, start);
  int loops = std::max(options.loops / processes, 1);
  if (fixed > 0) loops = std::min(loops, fixed);
  std::random_device seed;  // jitter must differ between processes
  for (int i = 0; i < loops; ++i) {
    auto part = [&](int total) { return total / loops + (i < total % loops ? 1 : 0); };
    dispatchers_.push_back(std::make_unique<Dispatcher>(
        context_,
        FlowControl::Limits{.fixed = part(fixed), .start = part(start), .ceiling = part(ceiling)},
        (std::uint64_t{seed()} << 32) | seed()));
  }
}

Engine::~Engine() = default;

Pending<S3Reply> Engine::Submit(S3Request request) {
  const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed) % dispatchers_.size();
  return dispatchers_[i]->Submit(std::move(request));
}

void Engine::CloseInheritedDescriptors() {
  for (auto& dispatcher : dispatchers_) dispatcher->CloseInheritedDescriptors();
}

}  // namespace headrace::s3
