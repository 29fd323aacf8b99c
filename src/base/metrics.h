// Counters, gauges and histograms, each a named member of whoever counts; a Registry lists them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace {

// Only grows. Safe for use from many threads.
class Counter {
 public:
  void Add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Goes up and down. Safe for use from many threads.
class Gauge {
 public:
  void Add(std::int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// Counts of durations in microseconds, in four buckets per power of two, so that a quantile is
// within 19 % of the true one. Safe for use from many threads.
class Histogram {
 public:
  static constexpr int kBuckets = 160;

  void Record(std::uint64_t micros);
  std::uint64_t count() const;
  std::uint64_t sum_micros() const { return sum_.load(std::memory_order_relaxed); }
  // The upper edge of the bucket that holds quantile q in [0, 1]; 0 when nothing was recorded.
  std::uint64_t QuantileMicros(double q) const;

 private:
  std::array<std::atomic<std::uint64_t>, kBuckets> counts_{};
  std::atomic<std::uint64_t> sum_{0};
};

// The names under which a program's metrics are shown, e.g. "headrace_requests_total". The things
// registered must outlive the registry's last report.
class Registry {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  void Add(std::string name, std::string help, const Counter* counter, Labels labels = {});
  void Add(std::string name, std::string help, const Gauge* gauge, Labels labels = {});
  void Add(std::string name, std::string help, const Histogram* histogram, Labels labels = {});
  void Add(std::string name, std::string help, std::function<double()> gauge, Labels labels = {});

  // One number per line of the report, with its full name: `name`, `name{label="x"}`, and for
  // histograms `_count`, `_sum` (seconds) and the quantiles 0.5, 0.95, 0.99 (seconds).
  std::vector<std::pair<std::string, double>> Values() const;
  // The Prometheus text format.
  std::string PrometheusText() const;

 private:
  struct Entry {
    std::string name;
    std::string help;
    std::string type;
    Labels labels;
    std::function<void(std::vector<std::pair<std::string, double>>&)> read;
  };
  void Append(Entry entry);

  mutable std::mutex mu_;
  std::deque<Entry> entries_;  // guarded by mu_
};

}  // namespace headrace
