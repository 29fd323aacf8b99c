#include "headrace/status.h"

#include <array>
#include <fmt/format.h>

namespace headrace {

std::string_view StatusCodeName(StatusCode code) {
  static constexpr std::array<std::string_view, 19> kNames = {
      "OK",           "Cancelled",   "InvalidArgument", "NotFound",         "AlreadyExists",
      "AccessDenied", "Credentials", "ObjectChanged",   "ChecksumMismatch", "Unreachable",
      "Timeout",      "Throttled",   "Archived",        "Unsupported",      "NoSpace",
      "Io",           "ServerError", "Protocol",        "Internal"};
  return kNames.at(static_cast<std::size_t>(code));
}

Status::Status(StatusCode code, std::string message) : Status(code, std::move(message), {}) {}

Status::Status(StatusCode code, std::string message, ErrorInfo info) {
  if (code == StatusCode::kOk) return;
  rep_ = std::make_shared<const Rep>(Rep{code, std::move(message), std::move(info)});
}

StatusCode Status::code() const { return rep_ ? rep_->code : StatusCode::kOk; }

const std::string& Status::message() const {
  static const std::string kEmpty;
  return rep_ ? rep_->message : kEmpty;
}

const ErrorInfo& Status::info() const {
  static const ErrorInfo kEmpty;
  return rep_ ? rep_->info : kEmpty;
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  return Status(rep_->code, fmt::format("{}: {}", context, rep_->message), rep_->info);
}

Status Status::WithInfo(ErrorInfo info) const {
  if (ok()) return *this;
  return Status(rep_->code, rep_->message, std::move(info));
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  std::string text = fmt::format("{}: {}", StatusCodeName(rep_->code), rep_->message);
  std::string details;
  auto add = [&details](std::string detail) {
    details += details.empty() ? "" : ", ";
    details += detail;
  };
  const ErrorInfo& info = rep_->info;
  if (info.http_status != 0) {
    add(info.s3_code.empty() ? fmt::format("HTTP {}", info.http_status)
                             : fmt::format("HTTP {} {}", info.http_status, info.s3_code));
  }
  if (!info.request_id.empty()) add(fmt::format("request id {}", info.request_id));
  if (info.attempts > 1) add(fmt::format("{} attempts", info.attempts));
  if (info.elapsed.count() > 0) add(fmt::format("{:.1f} s", info.elapsed.count() / 1000.0));
  return details.empty() ? text : fmt::format("{} [{}]", text, details);
}

}  // namespace headrace
