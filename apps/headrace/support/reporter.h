// What a verb tells of its work: a line for each object, progress, errors, a summary, the exit
// code.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "headrace/status.h"
#include "support/standard_streams.h"

namespace headrace::cli {

struct OutputOptions {
  bool json = false;              // JSON Lines instead of text
  bool quiet = false;             // errors only; with json still the JSON Lines
  bool only_show_errors = false;  // no lines for what went well, but progress
  bool progress = true;
  bool stats = false;  // the engine's metrics in the summary
  // Where lines go: standard error when standard output carries data.
  std::FILE* out = stdout;
};

// Safe for use from many threads.
class Reporter {
 public:
  // `verb` stands in front of errors ("headrace cp: …").
  Reporter(std::string verb, const OutputOptions& options);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // One object's end. `action` is "upload", "download", "copy" or "delete"; `target` may be empty.
  void Done(std::string_view action, std::string_view source, std::string_view target,
            std::uint64_t bytes);
  void DryRun(std::string_view action, std::string_view source, std::string_view target,
              std::uint64_t bytes);
  void Failed(std::string_view action, std::string_view source, std::string_view target,
              const Status& status);

  // Whether so many in a row failed for want of the endpoint that the rest need not be tried.
  bool Hopeless() const;
  // One object that was not tried for that reason.
  void NotTried();

  // A failure that belongs to no object in particular, such as a listing that breaks off.
  void Error(const Status& status);

  // For the progress line: what is to be done, as it becomes known, and what has been.
  void Planned(std::uint64_t bytes);
  void Moved(std::uint64_t bytes) { bytes_moved_ += bytes; }
  void AllPlanned() { all_planned_ = true; }

  // Ends the progress line and prints the summary. `metrics` are those of the client. The exit
  // code.
  int Finish(const std::vector<std::pair<std::string, double>>& metrics);

 private:
  void Line(std::string_view text);           // REQUIRES: mu_ held; seen at once
  void JsonLine(const nlohmann::json& line);  // REQUIRES: mu_ held
  void ClearProgress();                       // REQUIRES: mu_ held
  std::string ProgressText() const;
  void Tick(std::stop_token stop);

  const std::string verb_;
  const OutputOptions options_;
  const bool terminal_;  // progress goes to one
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();

  std::atomic<std::uint64_t> bytes_moved_ = 0;
  std::atomic<std::uint64_t> bytes_planned_ = 0;
  std::atomic<std::uint64_t> planned_ = 0;
  std::atomic<bool> all_planned_ = false;

  mutable std::mutex mu_;
  Output out_;  // guarded by mu_
  std::condition_variable_any wake_;
  std::uint64_t done_ = 0;        // guarded by mu_
  std::uint64_t failed_ = 0;      // guarded by mu_
  std::uint64_t done_bytes_ = 0;  // guarded by mu_
  int unreachable_in_row_ = 0;    // guarded by mu_
  std::uint64_t not_tried_ = 0;   // guarded by mu_
  bool error_ = false;            // guarded by mu_
  bool progress_shown_ = false;   // guarded by mu_; a progress line is on the terminal
  std::jthread ticker_;           // last, so that it ends first
};

// "key" as JSON can hold it; for bytes that are not UTF-8 also "key_base64", the exact ones.
void PutName(nlohmann::json& object, const char* field, std::string_view name);

std::string Dump(const nlohmann::json& object);

}  // namespace headrace::cli
