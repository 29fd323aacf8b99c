#include "support/content_type.h"

#include <array>
#include <utility>

#include "support/location.h"

namespace headrace::cli {

std::string GuessContentType(std::string_view path) {
  // Those of the IANA registry that training data and its surroundings have.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 30> kTypes = {{
      {"avif", "image/avif"},       {"bmp", "image/bmp"},
      {"css", "text/css"},          {"csv", "text/csv"},
      {"flac", "audio/flac"},       {"gif", "image/gif"},
      {"gz", "application/gzip"},   {"htm", "text/html"},
      {"html", "text/html"},        {"jpeg", "image/jpeg"},
      {"jpg", "image/jpeg"},        {"js", "text/javascript"},
      {"json", "application/json"}, {"md", "text/markdown"},
      {"mp3", "audio/mpeg"},        {"mp4", "video/mp4"},
      {"ogg", "audio/ogg"},         {"parquet", "application/vnd.apache.parquet"},
      {"pdf", "application/pdf"},   {"png", "image/png"},
      {"svg", "image/svg+xml"},     {"tar", "application/x-tar"},
      {"tif", "image/tiff"},        {"tiff", "image/tiff"},
      {"txt", "text/plain"},        {"wav", "audio/wav"},
      {"webp", "image/webp"},       {"xml", "application/xml"},
      {"zip", "application/zip"},   {"zst", "application/zstd"},
  }};
  const std::string_view name = Basename(path);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  std::string extension(name.substr(dot + 1));
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const auto& [known, type] : kTypes) {
    if (extension == known) return std::string(type);
  }
  return {};
}

}  // namespace headrace::cli
