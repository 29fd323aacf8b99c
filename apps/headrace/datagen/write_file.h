// A local file that appears under its name only when it is whole.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/scoped_fd.h"
#include "headrace/status.h"

namespace headrace::datagen {

// Writes beside the target and renames on Publish; without it, nothing is left behind.
class FileWriter {
 public:
  explicit FileWriter(std::filesystem::path target);
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  ~FileWriter();

  // Errors of all: ErrnoStatus's, with the path.
  Status Open();
  Status Write(std::string_view bytes);
  Status Publish();

 private:
  Status Failed(int error) const;

  std::filesystem::path target_;
  std::filesystem::path partial_;
  ScopedFd fd_;
};

// Replaces `target` by these bytes.
Status WriteFile(const std::filesystem::path& target, std::string_view bytes);

// The folder and those above it. Errors: as FileWriter.
Status MakeFolders(const std::filesystem::path& folder);

}  // namespace headrace::datagen
