// What is known of an object beside its bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace headrace {

struct ObjectInfo {
  std::string bucket;
  std::string key;
  std::uint64_t size = 0;  // bytes
  std::string etag;        // without quotes
  std::chrono::system_clock::time_point last_modified{};
  std::string storage_class;  // "" = STANDARD
  // From Head and Get only.
  std::string content_type;
  std::map<std::string, std::string> metadata;
};

}  // namespace headrace
