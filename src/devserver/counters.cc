#include "devserver/counters.h"

#include <nlohmann/json.hpp>

namespace headrace::devserver {

RequestCounts Counters::Snapshot() const {
  RequestCounts counts;
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    auto op = static_cast<Operation>(i);
    std::uint64_t n = requests_.at(i);
    if (n != 0 && op != Operation::kAdmin) counts.requests[std::string(OperationName(op))] = n;
  }
  for (std::size_t i = 0; i < responses_.size(); ++i) {
    if (std::uint64_t n = responses_.at(i); n != 0) counts.responses[std::to_string(i)] = n;
  }
  counts.bytes_received = bytes_received_;
  counts.bytes_sent = bytes_sent_;
  counts.connections = static_cast<std::uint64_t>(connections_.load());
  counts.connections_opened = connections_opened_;
  counts.in_flight = static_cast<std::uint64_t>(in_flight_.load());
  counts.max_in_flight = static_cast<std::uint64_t>(max_in_flight_.load());
  counts.faults = faults_;
  counts.throttled = throttled_;
  return counts;
}

void Counters::Reset() {
  for (auto& n : requests_) n = 0;
  for (auto& n : responses_) n = 0;
  bytes_received_ = 0;
  bytes_sent_ = 0;
  connections_opened_ = 0;
  max_in_flight_ = in_flight_.load();
  faults_ = 0;
  throttled_ = 0;
}

std::string Counters::ToJson() const {
  RequestCounts c = Snapshot();
  nlohmann::json out = {{"requests", c.requests},
                        {"responses", c.responses},
                        {"bytes_received", c.bytes_received},
                        {"bytes_sent", c.bytes_sent},
                        {"connections", c.connections},
                        {"connections_opened", c.connections_opened},
                        {"in_flight", c.in_flight},
                        {"max_in_flight", c.max_in_flight},
                        {"faults", c.faults},
                        {"throttled", c.throttled}};
  return out.dump() + "\n";
}

}  // namespace headrace::devserver
