// Faults on demand: rules that pick requests and say what goes wrong with them. The file format is
// in FAULTS.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "devserver/operation.h"
#include "headrace/status.h"

namespace headrace::devserver {

enum class FaultKind : std::uint8_t {
  kStall,
  kReset,
  kClose,
  kTruncate,
  kCorrupt,
  kStatus,
  kDrip,
  kWrongLength
};

// What happens to one request.
struct FaultAction {
  FaultKind kind = FaultKind::kStall;
  bool on_request = false;  // while the request's body is read, rather than on the response
  bool execute = true;      // whether the operation itself is carried out
  // A byte of the body; negative counts from its end. Nothing: before the status line.
  std::optional<std::int64_t> at;
  std::int64_t ms = 0;
  double bytes_per_second = 0;
  std::int64_t delta = 0;  // added to Content-Length
  int status = 503;
  std::string code;
  std::string message;
  std::optional<std::string> body;  // in place of S3's error document
  std::vector<std::pair<std::string, std::string>> headers;

  // `at` within a body of `size` bytes.
  std::uint64_t At(std::uint64_t size) const;
};

// Whether `text` matches `pattern`: `*` is any bytes (slashes too), `?` any one byte.
bool GlobMatch(std::string_view pattern, std::string_view text);

// The present rules and how often each has matched. Thread-safe.
class FaultInjector {
 public:
  // Replaces all rules and starts all counts anew. Errors: kInvalidArgument, which names the rule
  // and the field; the old rules then stay.
  Status SetRules(std::string_view json);
  // The action of the first rule that strikes this request.
  std::optional<FaultAction> Match(Operation op, std::string_view bucket, std::string_view key);

 private:
  struct Rule {
    std::vector<Operation> operations;  // empty: all
    std::string bucket = "*";
    std::string key = "*";
    std::optional<std::uint64_t> nth;
    std::optional<std::uint64_t> every;
    double probability = 1;
    std::optional<std::uint64_t> times;
    FaultAction action;
    std::uint64_t seen = 0;    // requests that matched operation, bucket and key
    std::uint64_t struck = 0;  // of these, those it struck
  };
  friend struct RuleParser;

  std::atomic<bool> any_ = false;
  std::mutex mutex_;
  std::vector<Rule> rules_;         // guarded by mutex_
  std::uint64_t random_state_ = 1;  // guarded by mutex_
};

}  // namespace headrace::devserver
