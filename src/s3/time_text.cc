#include "s3/time_text.h"

#include <array>
#include <chrono>
#include <fmt/format.h>

namespace headrace::s3 {
namespace {

// Reads from the front of a text; after a mismatch `ok` is false and stays so.
struct Scanner {
  std::string_view rest;
  bool ok = true;

  int Digits(std::size_t width) {
    int value = 0;
    if (rest.size() < width) ok = false;
    for (std::size_t i = 0; ok && i < width; ++i) {
      if (rest[i] < '0' || rest[i] > '9') {
        ok = false;
      } else {
        value = value * 10 + (rest[i] - '0');
      }
    }
    if (ok) rest.remove_prefix(width);
    return value;
  }

  void Literal(std::string_view text) {
    if (ok && rest.starts_with(text)) {
      rest.remove_prefix(text.size());
    } else {
      ok = false;
    }
  }

  bool Accept(char c) {
    if (!ok || rest.empty() || rest.front() != c) return false;
    rest.remove_prefix(1);
    return true;
  }
};

std::optional<WallTime> Assemble(int year, int month, int day, int hour, int minute, int second) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  // Second 60 is a leap second; it is read as the second after it.
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + std::chrono::seconds(second);
}

// The digits after the point; those past nanoseconds are dropped.
std::chrono::nanoseconds Fraction(Scanner& scan) {
  std::int64_t nanos = 0;
  std::int64_t unit = 100'000'000;
  if (scan.rest.empty() || scan.rest.front() < '0' || scan.rest.front() > '9') scan.ok = false;
  while (scan.ok && !scan.rest.empty() && scan.rest.front() >= '0' && scan.rest.front() <= '9') {
    nanos += unit * (scan.rest.front() - '0');
    unit /= 10;
    scan.rest.remove_prefix(1);
  }
  return std::chrono::nanoseconds(nanos);
}

}  // namespace

std::optional<WallTime> ParseIso8601(std::string_view text) {
  Scanner scan{text};
  const int year = scan.Digits(4);
  scan.Literal("-");
  const int month = scan.Digits(2);
  scan.Literal("-");
  const int day = scan.Digits(2);
  scan.Literal("T");
  const int hour = scan.Digits(2);
  scan.Literal(":");
  const int minute = scan.Digits(2);
  scan.Literal(":");
  const int second = scan.Digits(2);
  std::chrono::nanoseconds fraction(0);
  if (scan.Accept('.')) fraction = Fraction(scan);
  std::chrono::minutes offset(0);
  if (!scan.Accept('Z')) {
    const int sign = scan.Accept('-') ? -1 : 1;
    if (sign > 0) scan.Literal("+");
    const int offset_hours = scan.Digits(2);
    scan.Accept(':');
    const int offset_minutes = scan.Digits(2);
    offset = std::chrono::minutes(sign * (offset_hours * 60 + offset_minutes));
  }
  if (!scan.ok || !scan.rest.empty()) return std::nullopt;
  const std::optional<WallTime> time = Assemble(year, month, day, hour, minute, second);
  if (!time) return std::nullopt;
  return *time + std::chrono::duration_cast<WallTime::duration>(fraction) - offset;
}

std::optional<WallTime> ParseHttpDate(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() < 5) return std::nullopt;
  Scanner scan{text.substr(3)};  // the weekday follows from the date
  scan.Literal(", ");
  const int day = scan.Digits(2);
  scan.Literal(" ");
  int month = 0;
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (scan.ok && scan.rest.starts_with(kMonths[i])) month = static_cast<int>(i) + 1;
  }
  if (month == 0) return std::nullopt;
  scan.rest.remove_prefix(3);
  scan.Literal(" ");
  const int year = scan.Digits(4);
  scan.Literal(" ");
  const int hour = scan.Digits(2);
  scan.Literal(":");
  const int minute = scan.Digits(2);
  scan.Literal(":");
  const int second = scan.Digits(2);
  scan.Literal(" GMT");
  if (!scan.ok || !scan.rest.empty()) return std::nullopt;
  return Assemble(year, month, day, hour, minute, second);
}

std::string FormatIso8601(WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto days = std::chrono::floor<std::chrono::days>(second);
  const std::chrono::year_month_day date(days);
  const auto in_day = (second - days).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     in_day / 3600, in_day / 60 % 60, in_day % 60);
}

}  // namespace headrace::s3
