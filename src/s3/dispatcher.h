// The requests of one event loop: a queue, and those under way, as many as the flow control allows.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "s3/active_request.h"

namespace headrace::s3 {

// What the dispatchers of an engine share. The pointers outlive them.
struct EngineContext {
  net::Resolver* resolver;
  CredentialsCache* credentials;  // null: anonymous
  BucketEndpoints* endpoints;
  BufferPool* buffers;
  const Clock* clock;
  EngineMetrics* metrics;
  RetryBudget* retry_budget;
  const WireOptions* wire;
  const AttemptPolicy* policy;
  net::TransportOptions transport;
};

class Dispatcher {
 public:
  Dispatcher(const EngineContext& context, const FlowControl::Limits& limits, std::uint64_t seed);
  // Ends all requests with kCancelled.
  ~Dispatcher();

  // From any thread.
  Pending<S3Reply> Submit(S3Request request);

  // See net::EventLoop.
  void CloseInheritedDescriptors() { loop_.CloseInheritedDescriptors(); }

 private:
  // Loop thread only, all of these.
  void Enqueue(std::uint64_t id, S3Request request, Promise<S3Reply> promise);
  void StartQueued();
  void OnDone(std::uint64_t id);
  void Cancel(std::uint64_t id);
  void ShowGauges();

  EngineMetrics& metrics_;
  std::atomic<std::uint64_t> last_id_{0};
  Random random_;
  HedgeControl hedges_;
  FlowControl flow_;
  Signer signer_;
  LoopContext context_{};

  // The loop thread's own.
  std::deque<std::uint64_t> queue_;  // ids; those cancelled meanwhile are skipped
  std::unordered_map<std::uint64_t, std::unique_ptr<ActiveRequest>> requests_;  // queued and active
  int in_flight_ = 0;
  std::int64_t shown_in_flight_ = 0;  // what this loop contributed to the gauges
  std::int64_t shown_queued_ = 0;
  std::int64_t shown_limit_ = 0;

  net::EventLoop loop_;  // last made, first destroyed: its thread uses all of the above
};

}  // namespace headrace::s3
