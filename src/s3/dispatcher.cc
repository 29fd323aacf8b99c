#include "s3/dispatcher.h"

#include "base/clock.h"

namespace headrace::s3 {

Dispatcher::Dispatcher(const EngineContext& context, const FlowControl::Limits& limits,
                       std::uint64_t seed)
    : metrics_(*context.metrics),
      random_(seed),
      flow_(limits),
      loop_(context.transport, &context.metrics->loops) {
  context_ = {.loop = &loop_,
              .resolver = context.resolver,
              .credentials = context.credentials,
              .endpoints = context.endpoints,
              .buffers = context.buffers,
              .clock = context.clock,
              .metrics = context.metrics,
              .wire = context.wire,
              .policy = context.policy,
              .attempts = {context.retry_budget, &hedges_, &random_},
              .flow = &flow_,
              .signer = &signer_};
}

Dispatcher::~Dispatcher() {
  // Requests belong to the loop's thread, so they end there: its end runs what was posted before.
  loop_.Post([this] {
    queue_.clear();
    while (!requests_.empty()) Cancel(requests_.begin()->first);
    ShowGauges();
  });
}

Pending<S3Reply> Dispatcher::Submit(S3Request request) {
  auto [pending, promise] = MakePending<S3Reply>();
  const std::uint64_t id = last_id_.fetch_add(1) + 1;
  if (!request.into.empty()) promise.WritesToCaller();
  promise.OnCancel([this, id] { loop_.Post([this, id] { Cancel(id); }); });
  auto job = std::make_shared<std::pair<S3Request, Promise<S3Reply>>>(std::move(request),
                                                                      std::move(promise));
  loop_.Post([this, id, job] { Enqueue(id, std::move(job->first), std::move(job->second)); });
  return std::move(pending);
}

void Dispatcher::Enqueue(std::uint64_t id, S3Request request, Promise<S3Reply> promise) {
  if (promise.cancelled()) {
    promise.Set(Status(StatusCode::kCancelled, "cancelled before it began"));
    return;
  }
  requests_.emplace(
      id, std::make_unique<ActiveRequest>(&context_, std::move(request), std::move(promise)));
  queue_.push_back(id);
  StartQueued();
}

void Dispatcher::StartQueued() {
  while (in_flight_ < flow_.limit() && !queue_.empty()) {
    const std::uint64_t id = queue_.front();
    queue_.pop_front();
    const auto it = requests_.find(id);
    if (it == requests_.end()) continue;
    ++in_flight_;
    const bool saturated = in_flight_ >= flow_.limit() || !queue_.empty();
    it->second->Start(saturated, [this, id](ActiveRequest*) { OnDone(id); });
  }
  ShowGauges();
}

void Dispatcher::OnDone(std::uint64_t id) {
  --in_flight_;
  requests_.erase(id);
  // From the queue of posted work, so that a row of instant failures does not recurse.
  if (!queue_.empty()) {
    loop_.Post([this] { StartQueued(); });
  } else {
    ShowGauges();
  }
}

void Dispatcher::Cancel(std::uint64_t id) {
  const auto it = requests_.find(id);
  if (it == requests_.end()) return;
  if (it->second->started()) {
    it->second->Cancel();  // ends in OnDone
    return;
  }
  it->second->Cancel();
  requests_.erase(id);
  ShowGauges();
}

void Dispatcher::ShowGauges() {
  auto show = [](Gauge& gauge, std::int64_t& shown, std::int64_t now) {
    gauge.Add(now - shown);
    shown = now;
  };
  show(metrics_.in_flight, shown_in_flight_, in_flight_);
  show(metrics_.queued, shown_queued_, static_cast<std::int64_t>(requests_.size()) - in_flight_);
  show(metrics_.flow_limit, shown_limit_, flow_.limit());
}

}  // namespace headrace::s3
