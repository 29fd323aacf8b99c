#include "devserver/model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headrace::devserver {
namespace {

constexpr double kBurstSeconds = 0.25;
constexpr std::size_t kMaxPrefixes = 100'000;  // remembered; beyond it all start anew

}  // namespace

ModelOptions ModelOptions::S3() {
  ModelOptions options;
  options.first_byte_median_ms = 30;
  options.first_byte_sigma = 0.5;
  options.list_ms = 100;
  options.bytes_per_second = 90e6;
  options.gets_per_second = 5500;
  options.puts_per_second = 3500;
  return options;
}

double Model::Uniform() {
  std::uint64_t z = (random_ += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1.0p-53;
}

std::chrono::nanoseconds Model::FirstByteDelay(Operation op) {
  if (op == Operation::kAdmin) return {};
  double ms = options_.list_ms;
  if (!IsList(op)) {
    ms = options_.first_byte_median_ms;
    if (ms <= 0) return {};
    std::lock_guard lock(mutex_);
    // Box-Muller.
    double normal =
        std::sqrt(-2 * std::log(Uniform())) * std::cos(2 * std::numbers::pi * Uniform());
    ms *= std::exp(options_.first_byte_sigma * normal);
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(ms * 1e6));
}

bool Model::Admit(Operation op, std::string_view bucket, std::string_view key, TimePoint now) {
  const bool read = IsRead(op);
  if (!read && !IsWrite(op)) return true;
  const double rate = read ? options_.gets_per_second : options_.puts_per_second;
  if (rate <= 0) return true;
  std::size_t slash = key.rfind('/');
  std::string name(read ? "r" : "w");
  name += bucket;
  name += '/';
  if (slash != std::string_view::npos) name += key.substr(0, slash);

  const double burst = std::max(1.0, rate * kBurstSeconds);
  std::lock_guard lock(mutex_);
  if (buckets_.size() >= kMaxPrefixes) buckets_.clear();
  auto [found, fresh] = buckets_.try_emplace(std::move(name));
  TokenBucket& tokens = found->second;
  if (fresh) {
    tokens = {burst, now};
  } else {
    double elapsed = std::chrono::duration<double>(now - tokens.updated).count();
    tokens.tokens = std::min(burst, tokens.tokens + std::max(0.0, elapsed) * rate);
    tokens.updated = now;
  }
  if (tokens.tokens < 1) return false;
  tokens.tokens -= 1;
  return true;
}

}  // namespace headrace::devserver
