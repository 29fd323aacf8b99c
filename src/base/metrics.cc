#include "base/metrics.h"

#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace headrace {
namespace {

int BucketOf(std::uint64_t micros) {
  if (micros < 4) return static_cast<int>(micros);
  const int power = std::bit_width(micros) - 1;  // >= 2
  const auto quarter = static_cast<int>((micros >> (power - 2)) & 3);
  return std::min(4 * (power - 1) + quarter, Histogram::kBuckets - 1);
}

std::uint64_t UpperEdge(int bucket) {
  if (bucket < 4) return static_cast<std::uint64_t>(bucket);
  const int power = bucket / 4 + 1;
  const auto quarter = static_cast<std::uint64_t>(bucket % 4);
  return ((5 + quarter) << (power - 2)) - 1;
}

std::string Decorate(const std::string& name, Registry::Labels labels) {
  if (labels.empty()) return name;
  std::string text = name + "{";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    text += fmt::format("{}{}=\"{}\"", i > 0 ? "," : "", labels[i].first, labels[i].second);
  }
  return text + "}";
}

}  // namespace

void Histogram::Record(std::uint64_t micros) {
  counts_[static_cast<std::size_t>(BucketOf(micros))].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(micros, std::memory_order_relaxed);
}

std::uint64_t Histogram::count() const {
  std::uint64_t total = 0;
  for (const auto& count : counts_) total += count.load(std::memory_order_relaxed);
  return total;
}

std::uint64_t Histogram::QuantileMicros(double q) const {
  const std::uint64_t total = count();
  if (total == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(total)));
  std::uint64_t seen = 0;
  for (int i = 0; i < kBuckets; ++i) {
    seen += counts_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed);
    if (seen >= rank && seen > 0) return UpperEdge(i);
  }
  return UpperEdge(kBuckets - 1);
}

void Registry::Append(Entry entry) {
  std::lock_guard lock(mu_);
  entries_.push_back(std::move(entry));
}

void Registry::Add(std::string name, std::string help, const Counter* counter, Labels labels) {
  std::string full = Decorate(name, labels);
  Append({std::move(name), std::move(help), "counter", std::move(labels),
          [full, counter](auto& out) { out.emplace_back(full, counter->value()); }});
}

void Registry::Add(std::string name, std::string help, const Gauge* gauge, Labels labels) {
  std::string full = Decorate(name, labels);
  Append({std::move(name), std::move(help), "gauge", std::move(labels),
          [full, gauge](auto& out) { out.emplace_back(full, gauge->value()); }});
}

void Registry::Add(std::string name, std::string help, std::function<double()> gauge,
                   Labels labels) {
  std::string full = Decorate(name, labels);
  Append({std::move(name), std::move(help), "gauge", std::move(labels),
          [full, gauge = std::move(gauge)](auto& out) { out.emplace_back(full, gauge()); }});
}

void Registry::Add(std::string name, std::string help, const Histogram* histogram, Labels labels) {
  auto read = [name, labels, histogram](auto& out) {
    for (const auto& [q, label] : {std::pair{0.5, "0.5"}, {0.95, "0.95"}, {0.99, "0.99"}}) {
      Labels with = labels;
      with.emplace_back("quantile", label);
      out.emplace_back(Decorate(name, with),
                       static_cast<double>(histogram->QuantileMicros(q)) / 1e6);
    }
    out.emplace_back(Decorate(name + "_sum", labels),
                     static_cast<double>(histogram->sum_micros()) / 1e6);
    out.emplace_back(Decorate(name + "_count", labels), static_cast<double>(histogram->count()));
  };
  Append({std::move(name), std::move(help), "summary", std::move(labels), std::move(read)});
}

std::vector<std::pair<std::string, double>> Registry::Values() const {
  std::lock_guard lock(mu_);
  std::vector<std::pair<std::string, double>> values;
  for (const Entry& entry : entries_) entry.read(values);
  return values;
}

std::string Registry::PrometheusText() const {
  std::lock_guard lock(mu_);
  // The format wants all lines of a name together, whatever the order they were added in.
  std::map<std::string, std::string> families;
  for (const Entry& entry : entries_) {
    std::string& family = families[entry.name];
    if (family.empty()) {
      family = fmt::format("# HELP {} {}\n# TYPE {} {}\n", entry.name, entry.help, entry.name,
                           entry.type);
    }
    std::vector<std::pair<std::string, double>> values;
    entry.read(values);
    for (const auto& [name, value] : values) family += fmt::format("{} {}\n", name, value);
  }
  std::string text;
  for (const auto& [name, family] : families) text += family;
  return text;
}

}  // namespace headrace
