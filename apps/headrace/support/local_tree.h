// The files below a local folder, for uploads.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "headrace/status.h"

namespace headrace::cli {

struct LocalFile {
  std::string relative;  // below the folder, with '/'
  std::string path;      // to open
  std::uint64_t size = 0;
};

struct TreeOptions {
  bool follow_links = true;
};

// Calls `found` for each regular file, folders in the order of their names (bytewise), and `failed`
// for what cannot be uploaded: unreadable folders, broken links, links in a circle, devices and
// pipes. Ends early when `stop` is requested or `found` returns false.
void WalkTree(const std::string& folder, const TreeOptions& options, std::stop_token stop,
              const std::function<bool(LocalFile)>& found,
              const std::function<void(const std::string& path, Status)>& failed);

}  // namespace headrace::cli
