// What the server has done, for tests and benchmarks. Updated without locks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "devserver/operation.h"

namespace headrace::devserver {

// A copy of the counters at one moment.
struct RequestCounts {
  std::map<std::string, std::uint64_t> requests;   // by operation name, zeros left out
  std::map<std::string, std::uint64_t> responses;  // by HTTP status
  std::uint64_t bytes_received = 0;                // of request bodies
  std::uint64_t bytes_sent = 0;                    // of response bodies
  std::uint64_t connections = 0;                   // open now
  std::uint64_t connections_opened = 0;
  std::uint64_t in_flight = 0;      // requests being served now
  std::uint64_t max_in_flight = 0;  // most at once since the last reset
  std::uint64_t faults = 0;         // rules that struck
  std::uint64_t throttled = 0;      // 503s of the model's rate limit

  std::uint64_t Requests(const std::string& operation) const {
    auto found = requests.find(operation);
    return found == requests.end() ? 0 : found->second;
  }
};

// Thread-safe.
class Counters {
 public:
  void Request(Operation op) {
    requests_.at(static_cast<std::size_t>(op)).fetch_add(1, std::memory_order_relaxed);
    if (op == Operation::kAdmin) return;
    std::int64_t now = in_flight_.fetch_add(1, std::memory_order_relaxed) + 1;
    std::int64_t most = max_in_flight_.load(std::memory_order_relaxed);
    while (now > most && !max_in_flight_.compare_exchange_weak(most, now)) {
    }
  }
  void RequestDone(Operation op) {
    if (op != Operation::kAdmin) in_flight_.fetch_sub(1, std::memory_order_relaxed);
  }
  void Responded(int status) {
    if (status >= 0 && status < 600) {
      responses_.at(static_cast<std::size_t>(status)).fetch_add(1, std::memory_order_relaxed);
    }
  }
  void Received(std::uint64_t n) { bytes_received_.fetch_add(n, std::memory_order_relaxed); }
  void Sent(std::uint64_t n) { bytes_sent_.fetch_add(n, std::memory_order_relaxed); }
  void Opened() {
    connections_.fetch_add(1, std::memory_order_relaxed);
    connections_opened_.fetch_add(1, std::memory_order_relaxed);
  }
  void Closed() { connections_.fetch_sub(1, std::memory_order_relaxed); }
  void Fault() { faults_.fetch_add(1, std::memory_order_relaxed); }
  void Throttled() { throttled_.fetch_add(1, std::memory_order_relaxed); }

  RequestCounts Snapshot() const;  // `requests` without those of admins
  void Reset();                    // all but what is open now
  std::string ToJson() const;

 private:
  std::array<std::atomic<std::uint64_t>, kOperationCount> requests_{};
  std::array<std::atomic<std::uint64_t>, 600> responses_{};
  std::atomic<std::uint64_t> bytes_received_ = 0;
  std::atomic<std::uint64_t> bytes_sent_ = 0;
  std::atomic<std::int64_t> connections_ = 0;
  std::atomic<std::uint64_t> connections_opened_ = 0;
  std::atomic<std::int64_t> in_flight_ = 0;
  std::atomic<std::int64_t> max_in_flight_ = 0;
  std::atomic<std::uint64_t> faults_ = 0;
  std::atomic<std::uint64_t> throttled_ = 0;
};

}  // namespace headrace::devserver
