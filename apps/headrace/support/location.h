// What a path argument names: an S3 address, a local path, or "-".
#pragma once

#include <string>
#include <string_view>

#include "headrace/status.h"

namespace headrace::cli {

struct Location {
  enum class Kind { kS3, kLocal, kStream };
  Kind kind = Kind::kLocal;
  std::string bucket;  // of kS3
  std::string key;     // of kS3; may be empty
  std::string path;    // of kLocal

  bool is_s3() const { return kind == Kind::kS3; }
  // As the user would type it.
  std::string Text() const;
};

// "s3://…", "-", and everything else a local path ("file://…" too). kInvalidArgument for a
// malformed address.
Result<Location> ParseLocation(std::string_view argument);
// The same, and it must be an S3 address.
Result<Location> ParseS3(std::string_view argument);

// S3's rule for new buckets, as a message can say it, and whether a name keeps it. Some old buckets
// do not.
inline constexpr std::string_view kBucketNameRule =
    "names of buckets are 3 to 63 characters: lower-case letters, digits, dots and hyphens, the "
    "first and the last a letter or digit, and no two dots in a row";
bool IsBucketName(std::string_view name);

// The part after the last '/', which is empty for a folder.
std::string_view Basename(std::string_view path);

}  // namespace headrace::cli
