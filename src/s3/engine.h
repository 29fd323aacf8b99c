// The S3 client's engine: a few event loops that carry out S3Requests.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/buffer_pool.h"
#include "base/clock.h"
#include "base/pending.h"
#include "s3/dispatcher.h"

namespace headrace::s3 {

struct EngineOptions {
  Endpoint endpoint;
  // Null: anonymous.
  std::unique_ptr<CredentialsProvider> credentials;
  WireOptions wire;
  AttemptPolicy policy;
  net::TransportOptions transport;
  int max_in_flight = 0;  // of this engine; 0 = by probing
  // Of the host: each of its processes takes its part.
  int loops = 1;
  int processes_on_host = 1;
};

// Safe for use from many threads. Ends what is under way with kCancelled when destroyed.
class Engine {
 public:
  // `buffers` and `clock` outlive the engine.
  Engine(EngineOptions options, BufferPool* buffers, const Clock* clock);
  ~Engine();

  Pending<S3Reply> Submit(S3Request request);

  const EngineMetrics& metrics() const { return metrics_; }
  const BucketEndpoints& endpoints() const { return endpoints_; }
  BufferPool& buffers() { return *context_.buffers; }

  // In a fork's child, instead of the destructor; the engine must then be leaked.
  void CloseInheritedDescriptors();

 private:
  EngineMetrics metrics_;
  BucketEndpoints endpoints_;
  const WireOptions wire_;
  const AttemptPolicy policy_;
  RetryBudget retry_budget_;
  net::Resolver resolver_;
  std::unique_ptr<CredentialsCache> credentials_;
  EngineContext context_;
  std::vector<std::unique_ptr<Dispatcher>> dispatchers_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace headrace::s3
