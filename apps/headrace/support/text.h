// How the verbs write and read sizes, times and names.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/status.h"

namespace headrace::cli {

// A name on one line of a terminal: control bytes and broken UTF-8 become \xNN, a backslash \\.
std::string Printable(std::string_view name);

// "0 B", "999 B", "1.5 KiB", "12.0 GiB".
std::string HumanBytes(double bytes);

// "2026-11-29 16:56:41", in the local time zone.
std::string LocalTime(std::chrono::system_clock::time_point time);
// "2026-11-29T16:56:41Z"; with ".123" before the Z when the fraction is not zero.
std::string UtcTime(std::chrono::system_clock::time_point time);

// "45 s", "3 min 20 s", "2 h 5 min".
std::string HumanSeconds(double seconds);

// "8388608", "8MiB", "8M" (2^20), "8MB" (10^6, as coreutils have it), "1.5 gib". Below 2^63.
// kInvalidArgument otherwise.
Result<std::uint64_t> ParseBytes(std::string_view text);

// An error on one line: ToString(), except that Ctrl-C is called so and that a bucket which cannot
// exist by its name is told the rule.
std::string ErrorText(const Status& status);

}  // namespace headrace::cli
