#include "support/reporter.h"

#include <fmt/format.h>
#include <unistd.h>

#include "s3/checksum.h"
#include "support/text.h"

namespace headrace::cli {
namespace {

constexpr auto kTerminalTick = std::chrono::milliseconds(200);
constexpr auto kLogTick = std::chrono::seconds(5);

// Each of them was tried for seconds already.
constexpr int kHopeless = 16;

bool IsUtf8(std::string_view text) {
  // nlohmann::json throws on other bytes when told to; ask it.
  try {
    const std::string dumped = nlohmann::json(text).dump();
    return !dumped.empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

nlohmann::json ResultLine(std::string_view source, std::string_view target, std::uint64_t bytes,
                          const char* status) {
  nlohmann::json line;
  PutName(line, "source", source);
  PutName(line, "target", target);
  line["bytes"] = bytes;
  line["status"] = status;
  line["error"] = nullptr;
  return line;
}

std::string Arrow(std::string_view source, std::string_view target) {
  if (target.empty()) return Printable(source);
  return fmt::format("{} to {}", Printable(source), Printable(target));
}

}  // namespace

void PutName(nlohmann::json& object, const char* field, std::string_view name) {
  object[field] = name;
  if (!IsUtf8(name))
    object[fmt::format("{}_base64", field)] = s3::Base64Encode(std::as_bytes(std::span(name)));
}

std::string Dump(const nlohmann::json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Reporter::Reporter(std::string verb, const OutputOptions& options)
    : verb_(std::move(verb)),
      options_(options),
      terminal_(::isatty(STDERR_FILENO) == 1),
      out_(options.out) {
  if (options.progress && !options.quiet) {
    ticker_ = std::jthread([this](std::stop_token stop) { Tick(stop); });
  }
}

Reporter::~Reporter() = default;

void Reporter::ClearProgress() {
  if (!progress_shown_) return;
  PrintError("\r\x1b[K");
  progress_shown_ = false;
}

void Reporter::Line(std::string_view text) {
  ClearProgress();
  out_.Line(text);
  out_.Flush();
}

void Reporter::JsonLine(const nlohmann::json& line) { Line(Dump(line)); }

void Reporter::Done(std::string_view action, std::string_view source, std::string_view target,
                    std::uint64_t bytes) {
  std::lock_guard lock(mu_);
  ++done_;
  done_bytes_ += bytes;
  unreachable_in_row_ = 0;
  if (options_.json) {
    JsonLine(ResultLine(source, target, bytes, "ok"));
  } else if (!options_.quiet && !options_.only_show_errors) {
    Line(fmt::format("{}: {}", action, Arrow(source, target)));
  }
}

void Reporter::DryRun(std::string_view action, std::string_view source, std::string_view target,
                      std::uint64_t bytes) {
  std::lock_guard lock(mu_);
  ++done_;
  done_bytes_ += bytes;
  if (options_.json) {
    JsonLine(ResultLine(source, target, bytes, "dryrun"));
  } else if (!options_.quiet) {
    Line(fmt::format("(dryrun) {}: {}", action, Arrow(source, target)));
  }
}

void Reporter::Failed(std::string_view action, std::string_view source, std::string_view target,
                      const Status& status) {
  std::lock_guard lock(mu_);
  ++failed_;
  if (status.code() == StatusCode::kUnreachable) ++unreachable_in_row_;
  if (options_.json) {
    nlohmann::json line = ResultLine(source, target, 0, "failed");
    line["error"] = ErrorText(status);
    line["code"] = StatusCodeName(status.code());
    JsonLine(line);
    return;
  }
  if (status.code() == StatusCode::kCancelled) return;  // the user knows, and there may be many
  ClearProgress();
  PrintError("{} failed: {}: {}\n", action, Arrow(source, target), ErrorText(status));
}

bool Reporter::Hopeless() const {
  std::lock_guard lock(mu_);
  return unreachable_in_row_ >= kHopeless;
}

void Reporter::NotTried() {
  std::lock_guard lock(mu_);
  ++not_tried_;
}

void Reporter::Error(const Status& status) {
  std::lock_guard lock(mu_);
  error_ = true;
  if (status.code() == StatusCode::kCancelled) return;
  ClearProgress();
  PrintError("headrace {}: {}\n", verb_, ErrorText(status));
}

void Reporter::Planned(std::uint64_t bytes) {
  ++planned_;
  bytes_planned_ += bytes;
}

std::string Reporter::ProgressText() const {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
  const auto moved = static_cast<double>(bytes_moved_.load());
  const auto planned = static_cast<double>(bytes_planned_.load());
  const double rate = elapsed.count() > 0 ? moved / elapsed.count() : 0;
  const bool all = all_planned_;
  const char* at_least = all ? "" : "at least ";
  std::string text = HumanBytes(moved);
  // A stream's size is not known, nor that of a single object before it comes.
  if (planned > 0) text += fmt::format(" of {}{}", at_least, HumanBytes(planned));
  text += fmt::format(", {}/s, {} of {}{} objects", HumanBytes(rate), done_ + failed_, at_least,
                      planned_.load());
  if (failed_ > 0) text += fmt::format(", {} failed", failed_);
  if (all && rate > 0 && planned > moved) {
    text += fmt::format(", {} left", HumanSeconds((planned - moved) / rate));
  }
  return text;
}

void Reporter::Tick(std::stop_token stop) {
  const std::chrono::milliseconds tick = terminal_ ? kTerminalTick : kLogTick;
  std::unique_lock lock(mu_);
  while (!wake_.wait_for(lock, stop, tick, [&stop] { return stop.stop_requested(); })) {
    if (planned_ == 0 && bytes_moved_ == 0) continue;
    if (terminal_) {
      PrintError("\r\x1b[K{}", ProgressText());
      progress_shown_ = true;
    } else {
      PrintError("{}\n", ProgressText());
    }
    std::fflush(stderr);
  }
}

int Reporter::Finish(const std::vector<std::pair<std::string, double>>& metrics) {
  if (ticker_.joinable()) {
    ticker_.request_stop();
    ticker_.join();
  }
  std::lock_guard lock(mu_);
  ClearProgress();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
  if (not_tried_ > 0 && !options_.json) {
    PrintError("headrace {}: {} more were not tried, because the endpoint cannot be reached\n",
               verb_, not_tried_);
  }
  if (options_.json) {
    nlohmann::json summary = {{"objects", done_},
                              {"failed", failed_},
                              {"bytes", done_bytes_},
                              {"not_tried", not_tried_},
                              {"seconds", elapsed.count()}};
    if (options_.stats) {
      summary["metrics"] = nlohmann::json::object();
      for (const auto& [name, value] : metrics) summary["metrics"][name] = value;
    }
    JsonLine({{"summary", std::move(summary)}});
  } else if (options_.stats) {
    PrintError("{} objects, {}, {:.2f} s, {}/s, {} failed\n", done_,
               HumanBytes(static_cast<double>(done_bytes_)), elapsed.count(),
               HumanBytes(static_cast<double>(done_bytes_) / elapsed.count()), failed_);
    for (const auto& [name, value] : metrics) PrintError("{} {}\n", name, value);
  }
  return out_.Finish("headrace " + verb_, failed_ == 0 && !error_ ? 0 : 1);
}

}  // namespace headrace::cli
