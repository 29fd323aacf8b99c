// Errors as values. Every fallible call returns a Status or a Result<T>; nothing here throws.
//
// A Status is either OK or a code, a message that says what failed, where and what to do, and, when
// the failure came from a server, what the server said (ErrorInfo). An OK Status costs one null
// pointer.
#pragma once

#include <cassert>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace headrace {

enum class StatusCode : std::uint8_t {
  kOk = 0,
  kCancelled,         // the caller asked to stop, or dropped the operation
  kInvalidArgument,   // the call itself is wrong; trying again cannot help
  kNotFound,          // no such bucket, key, upload, profile, file
  kAlreadyExists,     // a create-only write found something there
  kAccessDenied,      // the server or file system refused these credentials
  kCredentials,       // no credentials, or they expired and cannot be refreshed
  kObjectChanged,     // the object was replaced while it was being read
  kChecksumMismatch,  // bytes arrived that are not the bytes that were stored
  kUnreachable,       // name lookup, connection or TLS failed
  kTimeout,           // a deadline passed
  kThrottled,         // the service asked us to slow down until the deadline
  kArchived,          // the object must be restored before it can be read
  kUnsupported,       // this backend cannot do or hold what was asked
  kNoSpace,           // the disk or a quota is full
  kIo,                // a local file operation failed
  kServerError,       // the server failed (5xx) until attempts ran out
  kProtocol,          // the server's answer makes no sense
  kInternal,          // a bug in headrace
};

// "NotFound", "AccessDenied", …: the names used in JSON output and by the Python exceptions.
std::string_view StatusCodeName(StatusCode code);

// What a server said, and how hard we tried. Empty fields were not known.
struct ErrorInfo {
  int http_status = 0;
  std::string s3_code;     // e.g. "NoSuchKey"
  std::string request_id;  // x-amz-request-id, for the provider's support
  std::string bucket;
  std::string key;
  int attempts = 0;
  std::chrono::milliseconds elapsed{0};
};

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(StatusCode code, std::string message);
  Status(StatusCode code, std::string message, ErrorInfo info);

  bool ok() const { return rep_ == nullptr; }
  StatusCode code() const;
  const std::string& message() const;  // "" when OK
  const ErrorInfo& info() const;       // all empty when OK

  // The same error with "context: " in front of its message. OK stays OK.
  Status WithContext(std::string_view context) const;
  // The same code and message with other details. OK stays OK.
  Status WithInfo(ErrorInfo info) const;

  // "NotFound: message [HTTP 404 NoSuchKey, request id R, 2 attempts, 0.3 s]".
  std::string ToString() const;

 private:
  struct Rep {
    StatusCode code;
    std::string message;
    ErrorInfo info;
  };
  std::shared_ptr<const Rep> rep_;
};

// A T, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<1>, std::move(value)) {}
  Result(Status status) : state_(std::in_place_index<0>, std::move(status)) {
    assert(!std::get<0>(state_).ok() && "a Result without a value needs an error");
  }

  bool ok() const { return state_.index() == 1; }
  Status status() const { return ok() ? Status() : std::get<0>(state_); }

  // REQUIRES: ok().
  T& value() & { return Get(); }
  const T& value() const& { return const_cast<Result*>(this)->Get(); }
  T&& value() && { return std::move(Get()); }
  T& operator*() & { return Get(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(Get()); }
  T* operator->() { return &Get(); }
  const T* operator->() const { return &value(); }

 private:
  T& Get() {
    assert(ok());
    return *std::get_if<1>(&state_);
  }
  std::variant<Status, T> state_;
};

}  // namespace headrace
