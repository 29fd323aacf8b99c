#include "datagen/datagen.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <turbojpeg.h>
#include <utility>

#include "base/macros.h"
#include "datagen/shapes.h"
#include "datagen/write_file.h"

namespace headrace::datagen {
namespace {

// Independent streams for each file: golden-ratio steps, which Random's seeding then mixes.
Random RandomFor(std::uint64_t seed, std::uint64_t split, std::uint64_t number) {
  Random stream(seed ^ (split << 56));
  return Random(stream.Next() + number * 0x9e3779b97f4a7c15);
}

// One thread's encoder and the buffer it writes to, used again for every picture.
class JpegEncoder {
 public:
  explicit JpegEncoder(int quality) : handle_(tjInitCompress()), quality_(quality) {}
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;
  ~JpegEncoder() {
    tjFree(buffer_);
    if (handle_ != nullptr) tjDestroy(handle_);
  }

  // The bytes stay valid until the next call.
  Result<std::string_view> Encode(const Picture& picture) {
    unsigned long size = capacity_;  // NOLINT(google-runtime-int): the library's type
    if (handle_ == nullptr ||
        tjCompress2(handle_, picture.rgb.data(), picture.width, 0, picture.height, TJPF_RGB,
                    &buffer_, &size, TJSAMP_420, quality_, TJFLAG_FASTDCT) != 0) {
      return Status(StatusCode::kInternal,
                    fmt::format("encoding JPEG: {}", tjGetErrorStr2(handle_)));
    }
    capacity_ = std::max(capacity_, size);
    return std::string_view(reinterpret_cast<const char*>(buffer_), size);
  }

 private:
  tjhandle handle_;
  int quality_;
  unsigned char* buffer_ = nullptr;
  unsigned long capacity_ = 0;  // NOLINT(google-runtime-int)
};

// Runs `work(n)` for n in [0, total) on several threads, each with a worker of its own that
// `make_worker()` gives; the first error ends all.
template <typename MakeWorker>
Result<Totals> ForEach(const Common& common, std::uint64_t total, const std::stop_token& stop,
                       MakeWorker make_worker) {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> bytes{0};
  std::mutex mutex;
  std::uint64_t done = 0;  // guarded by mutex
  Status first_error;      // guarded by mutex
  std::atomic<bool> failed{false};

  auto run = [&] {
    auto worker = make_worker();
    while (!failed.load(std::memory_order_relaxed)) {
      const std::uint64_t number = next.fetch_add(1);
      if (number >= total) return;
      Result<std::uint64_t> written =
          stop.stop_requested() ? Status(StatusCode::kCancelled, "stopped") : worker(number);
      const std::lock_guard lock(mutex);
      if (!written.ok()) {
        if (first_error.ok()) first_error = written.status();
        failed = true;
        return;
      }
      bytes += *written;
      ++done;
      if (common.progress) common.progress(done, total);
    }
  };

  int threads =
      common.threads > 0 ? common.threads : static_cast<int>(std::thread::hardware_concurrency());
  threads = std::max(1, threads);
  {
    std::vector<std::jthread> pool;
    for (int i = 1; i < threads; ++i) pool.emplace_back(run);
    run();
  }
  RETURN_IF_ERROR(first_error);
  return Totals{total, bytes};
}

}  // namespace

Result<Totals> WriteImages(const Common& common, const ImageSet& set, std::stop_token stop) {
  constexpr int kLargest = 16384;
  if (set.width < 16 || set.height < 16 || set.width > kLargest || set.height > kLargest) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("a picture of {}x{}: width and height have to be 16 to {}", set.width,
                              set.height, kLargest));
  }
  if (set.quality < 1 || set.quality > 100) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("JPEG quality {}: it has to be 1 to 100", set.quality));
  }
  for (const char* split : {"train", "val"}) {
    for (const std::string_view shape : kShapes) {
      RETURN_IF_ERROR(MakeFolders(common.folder / split / shape));
    }
  }
  return ForEach(common, set.train + set.held_out, stop, [&] {
    auto encoder = std::make_shared<JpegEncoder>(set.quality);
    return [&, encoder](std::uint64_t number) -> Result<std::uint64_t> {
      const bool held_out = number >= set.train;
      const std::uint64_t within = held_out ? number - set.train : number;
      const std::size_t shape = within % kShapes.size();
      Random random = RandomFor(common.seed, held_out ? 1 : 0, within);
      ASSIGN_OR_RETURN(std::string_view jpeg,
                       encoder->Encode(Draw(shape, set.width, set.height, random)));
      RETURN_IF_ERROR(WriteFile(common.folder / (held_out ? "val" : "train") / kShapes.at(shape) /
                                    fmt::format("{:06}.jpg", within),
                                jpeg));
      return jpeg.size();
    };
  });
}

Result<Totals> WriteFiles(const Common& common, const FileSet& set, std::stop_token stop) {
  if (set.sizes.empty()) return Status(StatusCode::kInvalidArgument, "no size was given");
  RETURN_IF_ERROR(MakeFolders(common.folder));
  return ForEach(common, set.count, stop, [&] {
    return [&](std::uint64_t number) -> Result<std::uint64_t> {
      const std::uint64_t size = set.sizes[number % set.sizes.size()];
      Random random = RandomFor(common.seed, 2, number);
      FileWriter file(common.folder / fmt::format("{:06}.bin", number));
      RETURN_IF_ERROR(file.Open());
      std::vector<std::uint64_t> block(1 << 14);
      for (std::uint64_t left = size; left > 0;) {
        if (stop.stop_requested()) return Status(StatusCode::kCancelled, "stopped");
        for (std::uint64_t& word : block) word = random.Next();
        const std::uint64_t length = std::min<std::uint64_t>(left, block.size() * sizeof(block[0]));
        RETURN_IF_ERROR(file.Write({reinterpret_cast<const char*>(block.data()), length}));
        left -= length;
      }
      RETURN_IF_ERROR(file.Publish());
      return size;
    };
  });
}

}  // namespace headrace::datagen
