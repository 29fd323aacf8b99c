#include "s3/engine.h"

#include <algorithm>
#include <random>
#include <sys/resource.h>

namespace headrace::s3 {
namespace {

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
      resolver_(clock),
      credentials_(options.credentials
                       ? std::make_unique<CredentialsCache>(std::move(options.credentials), clock)
                       : nullptr) {
  const int loops = std::max(options.loops, 1);
  auto share = [loops](int total) { return total > 0 ? std::max(total / loops, 1) : 0; };
  context_ = {.resolver = &resolver_,
              .credentials = credentials_.get(),
              .endpoints = &endpoints_,
              .buffers = buffers,
              .clock = clock,
              .metrics = &metrics_,
              .retry_budget = &retry_budget_,
              .wire = &wire_,
              .transport = options.transport,
              .max_in_flight = share(options.max_in_flight),
              .ceiling = share(InFlightCeiling())};
  std::random_device seed;  // jitter must differ between processes
  for (int i = 0; i < loops; ++i) {
    dispatchers_.push_back(
        std::make_unique<Dispatcher>(context_, (std::uint64_t{seed()} << 32) | seed()));
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
