// Writes data sets to try things on: JPEG pictures in folders by class, and plain files.
//
// Everything follows from the seed and a file's number, so the result does not depend on the number
// of threads. Each file appears under its name only when it is whole. Safe from one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "headrace/status.h"

namespace headrace::datagen {

// Called from time to time with the files written so far and their number in all; from one thread
// at a time.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct Common {
  std::filesystem::path folder;
  std::uint64_t seed = 1;
  int threads = 0;  // 0: one per core
  Progress progress;
};

struct ImageSet {
  std::uint64_t train = 2000;
  std::uint64_t held_out = 500;
  int width = 496;
  int height = 387;
  int quality = 90;  // JPEG's, 1 to 100
};

struct FileSet {
  std::uint64_t count = 0;
  std::vector<std::uint64_t> sizes;  // bytes; file n has size n modulo their number
};

struct Totals {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

// folder/{train,val}/<shape>/<number>.jpg; picture n shows shape n modulo ten.
// Errors: kInvalidArgument, kIo and kNoSpace with the path, kCancelled when `stop` asked for it.
Result<Totals> WriteImages(const Common& common, const ImageSet& set, std::stop_token stop);

// folder/<number>.bin, of bytes that do not compress. Errors: as WriteImages.
Result<Totals> WriteFiles(const Common& common, const FileSet& set, std::stop_token stop);

}  // namespace headrace::datagen
