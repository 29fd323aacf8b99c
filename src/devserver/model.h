// How fast the service that is imitated answers: time to first byte, bandwidth of a connection,
// request rate of a prefix.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "devserver/operation.h"

namespace headrace::devserver {

// 0 switches a part off; the default is no model at all.
struct ModelOptions {
  double first_byte_median_ms = 0;  // lognormal, for all requests but LIST
  double first_byte_sigma = 0.5;    // of the logarithm
  double list_ms = 0;               // a page of a listing
  double bytes_per_second = 0;      // of one connection, in each direction
  double gets_per_second = 0;       // GET and HEAD, per prefix; above it 503 SlowDown
  double puts_per_second = 0;       // everything that changes an object, per prefix
  std::uint64_t seed = 1;

  static ModelOptions S3();  // 30 ms, 0.5, 100 ms, 90 MB/s, 5,500 and 3,500
};

// Thread-safe.
class Model {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  explicit Model(const ModelOptions& options) : options_(options), random_(options.seed) {}

  const ModelOptions& options() const { return options_; }
  // How long to wait before the first byte of the answer.
  std::chrono::nanoseconds FirstByteDelay(Operation op);
  // Whether the prefix of `key` (up to its last `/`) can take one more request now. A prefix that
  // was idle may take a quarter of a second's worth at once.
  bool Admit(Operation op, std::string_view bucket, std::string_view key, TimePoint now);

 private:
  struct TokenBucket {
    double tokens = 0;
    TimePoint updated;
  };
  double Uniform();  // REQUIRES: mutex_ held

  const ModelOptions options_;
  std::mutex mutex_;
  std::uint64_t random_;                                  // guarded by mutex_
  std::unordered_map<std::string, TokenBucket> buckets_;  // guarded by mutex_
};

}  // namespace headrace::devserver
