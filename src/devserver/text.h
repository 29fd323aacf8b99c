// Encodings that the S3 protocol uses: percent, hex, base64, dates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace::devserver {

// Percent-encodes all but A-Z a-z 0-9 - _ . ~ (and `/` when `keep_slash`), as SigV4 asks.
std::string UriEncode(std::string_view bytes, bool keep_slash);

// As UriEncode with slashes kept, but a space becomes `+`: the form S3 gives to encoding-type=url.
std::string ListEncode(std::string_view bytes);

// Undoes percent-encoding; `+` becomes a space when `plus_is_space`. Nothing when a `%` is not
// followed by two hex digits.
std::optional<std::string> UriDecode(std::string_view text, bool plus_is_space);

std::string HexEncode(std::string_view bytes);  // lower case
std::string Base64Encode(std::string_view bytes);
std::optional<std::string> Base64Decode(std::string_view text);

// Escapes text for XML, with control characters as numeric references.
void AppendXmlEscaped(std::string& out, std::string_view text);

bool IsValidUtf8(std::string_view bytes);

// Whole number in decimal digits only: no sign, no spaces, no overflow.
std::optional<std::uint64_t> ParseUint(std::string_view digits);

std::string_view Trim(std::string_view text);  // spaces and tabs
bool EqualsIgnoreCase(std::string_view a, std::string_view b);
std::string ToLower(std::string_view text);

// Dates. Times are milliseconds (or seconds where said) since 1970 UTC.
std::string FormatHttpDate(std::int64_t unix_seconds);  // "Fri, 24 May 2013 00:00:00 GMT"
std::string FormatIsoDate(std::int64_t unix_ms);        // "2013-05-24T00:00:00.000Z"
std::string FormatAmzDate(std::int64_t unix_seconds);   // "20130524T000000Z"
std::optional<std::int64_t> ParseHttpDate(std::string_view text);
std::optional<std::int64_t> ParseAmzDate(std::string_view text);

}  // namespace headrace::devserver
