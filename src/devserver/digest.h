// Message digests and the checksums that S3 knows, computed piece by piece.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace headrace::devserver {

// One-shot digests as raw bytes. Thread-safe.
std::string Sha256(std::string_view data);
std::string HmacSha256(std::string_view key, std::string_view data);
std::string Md5(std::string_view data);

inline constexpr std::string_view kEmptySha256Hex =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

enum class ChecksumAlgorithm : std::uint8_t { kCrc32, kCrc32c, kCrc64nvme, kSha1, kSha256 };
inline constexpr std::array<ChecksumAlgorithm, 5> kChecksumAlgorithms = {
    ChecksumAlgorithm::kCrc32, ChecksumAlgorithm::kCrc32c, ChecksumAlgorithm::kCrc64nvme,
    ChecksumAlgorithm::kSha1, ChecksumAlgorithm::kSha256};

std::string_view ChecksumName(ChecksumAlgorithm algorithm);        // "CRC32C"
std::string_view ChecksumHeader(ChecksumAlgorithm algorithm);      // "x-amz-checksum-crc32c"
std::string_view ChecksumXmlElement(ChecksumAlgorithm algorithm);  // "ChecksumCRC32C"
std::optional<ChecksumAlgorithm> ParseChecksumName(std::string_view name);    // any case
std::optional<ChecksumAlgorithm> ParseChecksumHeader(std::string_view name);  // lower case
inline bool IsCrc(ChecksumAlgorithm a) { return a <= ChecksumAlgorithm::kCrc64nvme; }

// A digest being computed. Not thread-safe.
class Hasher {
 public:
  virtual ~Hasher() = default;
  virtual void Update(std::string_view data) = 0;
  virtual std::string Finish() = 0;  // raw bytes, big-endian for CRCs; call once
};
std::unique_ptr<Hasher> NewMd5();
std::unique_ptr<Hasher> NewSha256();
std::unique_ptr<Hasher> NewChecksum(ChecksumAlgorithm algorithm);

// The CRC of A followed by B from the CRCs (raw bytes) of both and the length of B in bytes.
// REQUIRES: IsCrc(algorithm).
std::string CombineCrc(ChecksumAlgorithm algorithm, std::string_view crc_a, std::string_view crc_b,
                       std::uint64_t length_b);

// CRC-64/NVME of `data` continuing from `crc` (0 to start).
std::uint64_t Crc64Nvme(std::uint64_t crc, std::string_view data);

}  // namespace headrace::devserver
