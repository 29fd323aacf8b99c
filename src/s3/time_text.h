// The two ways in which S3 and its relatives write a point in time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/deadline.h"

namespace headrace::s3 {

// "2026-11-29T16:56:41.123Z", with or without a fraction, with Z or an offset like +00:00; the
// listing's LastModified and the Expiration of credentials. nullopt for anything else.
std::optional<WallTime> ParseIso8601(std::string_view text);

// "Sun, 29 Nov 2026 16:56:41 GMT": the Date, Last-Modified and Retry-After headers. nullopt for
// anything else.
std::optional<WallTime> ParseHttpDate(std::string_view text);

// "2026-11-29T16:56:41Z"; fractions of a second are cut off.
std::string FormatIso8601(WallTime time);

}  // namespace headrace::s3
