#include "support/text.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <ctime>
#include <fmt/format.h>

#include "support/location.h"

namespace headrace::cli {
namespace {

// The length of the well-formed UTF-8 sequence that `text` starts with; 0 for anything else and for
// control characters.
std::size_t PrintableLength(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7F ? 1 : 0;
  const std::size_t length = lead >= 0xF0 && lead < 0xF5 ? 4
                             : lead >= 0xE0              ? 3
                             : lead >= 0xC2              ? 2
                                                         : 0;
  if (length == 0 || lead >= 0xF5 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool c1_control = lead == 0xC2 && byte(1) < 0xA0;
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool outside = (lead == 0xED && byte(1) >= 0xA0) || (lead == 0xF4 && byte(1) >= 0x90);
  return c1_control || overlong || outside ? 0 : length;
}

// The bytes of a unit, 0 where there is none such. K and KiB are 1024, KB is 1000.
long double BytesOf(std::string_view unit) {
  std::string name(unit);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (name.empty() || name == "B") return 1;
  constexpr std::string_view kPrefixes = "KMGT";
  const std::size_t prefix = kPrefixes.find(name.front());
  const std::string_view rest = std::string_view(name).substr(1);
  if (prefix == std::string_view::npos) return 0;
  if (!rest.empty() && rest != "B" && rest != "IB") return 0;
  return std::pow(rest == "B" ? 1000.0L : 1024.0L, prefix + 1);
}

}  // namespace

std::string Printable(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::size_t length = PrintableLength(name);
    if (name.front() == '\\') {
      out += "\\\\";
    } else if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(name.front()));
    } else {
      out += name.substr(0, length);
    }
    name.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string HumanBytes(double bytes) {
  static constexpr std::array<std::string_view, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                             "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 1023.95 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string LocalTime(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::array<char, 32> text;
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return {text.data(), size};
}

std::string UtcTime(std::chrono::system_clock::time_point time) {
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto whole = std::chrono::floor<std::chrono::seconds>(millis);
  const std::time_t seconds = whole.time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text;
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const auto fraction = (millis - whole).count();
  return fmt::format("{}{}Z", std::string_view(text.data(), size),
                     fraction == 0 ? std::string() : fmt::format(".{:03}", fraction));
}

std::string HumanSeconds(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string ErrorText(const Status& status) {
  if (status.code() == StatusCode::kCancelled) return "interrupted";
  const ErrorInfo& info = status.info();
  const bool maybe_no_bucket = info.http_status == 404 && info.s3_code != "NoSuchKey";
  if (!maybe_no_bucket || info.bucket.empty() || IsBucketName(info.bucket)) {
    return status.ToString();
  }
  return Status(status.code(), fmt::format("{}; {}", status.message(), kBucketNameRule), info)
      .ToString();
}

Result<std::uint64_t> ParseBytes(std::string_view text) {
  long double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const long double of_unit = BytesOf(unit);
  const long double bytes = std::round(number * of_unit);
  const bool in_range = !std::signbit(number) && bytes < 0x1p63L;  // false for what is no number
  if (error != std::errc() || of_unit == 0 || !in_range) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("'{}' is not a size; write bytes, or a number with KiB, MiB, GiB, TiB (1024) "
                    "or KB, MB, GB, TB (1000)",
                    text));
  }
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace headrace::cli
