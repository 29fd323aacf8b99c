// The content type that a file's name suggests.
#pragma once

#include <string>
#include <string_view>

namespace headrace::cli {

// "image/jpeg" for "x/1.JPG"; "" for an extension that is not known.
std::string GuessContentType(std::string_view path);

}  // namespace headrace::cli
