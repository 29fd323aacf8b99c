#include "devserver/virtual_bucket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/macros.h"

namespace headrace::devserver {
namespace {

std::uint64_t SplitMix64(std::uint64_t n) {
  std::uint64_t z = (n + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::uint64_t Fnv1a64(std::uint64_t hash, std::string_view bytes) {
  for (unsigned char c : bytes) hash = (hash ^ c) * 0x100000001B3ULL;
  return hash;
}
constexpr std::uint64_t kFnvStart = 0xCBF29CE484222325ULL;

Status AddLine(const nlohmann::json& line, VirtualBucket* bucket) {
  std::uint64_t size = line.at("size");
  if (line.contains("key")) {
    bucket->Add(line.at("key").get<std::string>(), size);
    return Status();
  }
  std::string prefix = line.value("prefix", "");
  std::string suffix = line.value("suffix", "");
  std::uint64_t count = line.at("count");
  int digits = line.value("digits", 8);
  if (digits < 1 || digits > 20) {
    return Status(StatusCode::kInvalidArgument, "\"digits\" must be 1 to 20");
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    bucket->Add(fmt::format("{}{:0{}}{}", prefix, i, digits, suffix), size);
  }
  return Status();
}

}  // namespace

void VirtualBucket::Add(std::string_view key, std::uint64_t size) {
  entries_.push_back({keys_.size(), static_cast<std::uint32_t>(key.size()), size});
  keys_ += key;
}

Status VirtualBucket::Sort() {
  auto less = [this](const Entry& a, const Entry& b) { return KeyOf(a) < KeyOf(b); };
  if (!std::is_sorted(entries_.begin(), entries_.end(), less)) {
    std::sort(entries_.begin(), entries_.end(), less);
  }
  auto twice =
      std::adjacent_find(entries_.begin(), entries_.end(),
                         [this](const Entry& a, const Entry& b) { return KeyOf(a) == KeyOf(b); });
  if (twice != entries_.end()) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("the key \"{}\" of bucket \"{}\" is given twice", KeyOf(*twice), name_));
  }
  return Status();
}

std::vector<VirtualBucket::Entry>::const_iterator VirtualBucket::LowerBound(
    std::string_view key) const {
  return std::lower_bound(entries_.begin(), entries_.end(), key,
                          [this](const Entry& e, std::string_view k) { return KeyOf(e) < k; });
}

std::uint64_t VirtualBucket::StartOf(std::string_view key) const {
  return Fnv1a64(Fnv1a64(Fnv1a64(kFnvStart, name_), "/"), key) % kPoolBytes;
}

// Shaped as a multipart upload's, so that no client takes it for the MD5 of the bytes.
std::string VirtualBucket::EtagOf(std::string_view key, std::uint64_t size) const {
  std::uint64_t a = Fnv1a64(kFnvStart + size, key);
  return fmt::format("{:016x}{:016x}-1", a, SplitMix64(a ^ size));
}

std::shared_ptr<const ObjectMeta> VirtualBucket::Find(std::string_view key) const {
  auto found = LowerBound(key);
  if (found == entries_.end() || KeyOf(*found) != key) return nullptr;
  auto meta = std::make_shared<ObjectMeta>();
  meta->etag = EtagOf(key, found->size);
  meta->size = found->size;
  meta->modified_ms = modified_ms_;
  meta->generated_at = StartOf(key);
  return meta;
}

class VirtualBucket::Cursor final : public KeyCursor {
 public:
  explicit Cursor(const VirtualBucket& bucket) : bucket_(bucket), at_(bucket.entries_.end()) {}
  void Seek(std::string_view at_least) override { at_ = bucket_.LowerBound(at_least); }
  void Next() override { ++at_; }
  bool Valid() const override { return at_ != bucket_.entries_.end(); }
  std::string_view Key() const override { return bucket_.KeyOf(*at_); }
  ListedObject Object() const override {
    return {std::string(Key()), bucket_.EtagOf(Key(), at_->size),
            at_->size,          bucket_.modified_ms_,
            "STANDARD",         ""};
  }

 private:
  const VirtualBucket& bucket_;
  std::vector<Entry>::const_iterator at_;
};

std::unique_ptr<KeyCursor> VirtualBucket::NewCursor() const {
  return std::make_unique<Cursor>(*this);
}

Result<std::map<std::string, std::unique_ptr<VirtualBucket>, std::less<>>> ReadVirtualFile(
    const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return Status(StatusCode::kIo,
                  fmt::format("opening the virtual listing {}: {}", path, std::strerror(errno)));
  }
  struct stat info {};
  stat(path.c_str(), &info);
  std::map<std::string, std::unique_ptr<VirtualBucket>, std::less<>> buckets;
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    if (text.empty()) continue;
    auto context = [&](std::string_view what) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("virtual listing {} line {}: {}", path, number, what));
    };
    nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
    if (!line.is_object()) return context("not a JSON object");
    try {
      std::string name = line.value("bucket", "virtual");
      std::unique_ptr<VirtualBucket>& bucket = buckets[name];
      if (bucket == nullptr) {
        bucket = std::make_unique<VirtualBucket>(name, std::int64_t{info.st_mtime} * 1000);
      }
      Status added = AddLine(line, bucket.get());
      if (!added.ok()) return context(added.message());
    } catch (const nlohmann::json::exception& error) {
      return context(error.what());
    }
  }
  for (auto& [name, bucket] : buckets) RETURN_IF_ERROR(bucket->Sort());
  return buckets;
}

Result<std::shared_ptr<const OpenFile>> MakeGeneratedPool() {
  int fd = memfd_create("headrace-generated", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, kPoolBytes) != 0) {
    return Status(StatusCode::kIo, fmt::format("memfd_create: {}", std::strerror(errno)));
  }
  auto file = std::make_shared<const OpenFile>(fd);
  void* mapped = mmap(nullptr, kPoolBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) {
    return Status(StatusCode::kIo, fmt::format("mmap: {}", std::strerror(errno)));
  }
  auto* words = static_cast<std::uint64_t*>(mapped);
  for (std::uint64_t i = 0; i < kPoolBytes / 8; ++i) words[i] = SplitMix64(i);
  munmap(mapped, kPoolBytes);
  return file;
}

}  // namespace headrace::devserver
