// The checksums that S3 stores with objects and that cost little: CRC32, CRC32C and CRC64NVME,
// their values in headers, and the checksum of two pieces joined.
//
// A Crc value is the finished one, as it stands in a header: extending starts from the finished
// value of what came before, and that of nothing is 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headrace/status.h"

namespace headrace::s3 {

// CRC-32 (ISO-HDLC, as in zlib) of the bytes `crc` stands for with `data` after them.
std::uint32_t ExtendCrc32(std::uint32_t crc, std::span<const std::byte> data);
// The CRC of A followed by B, from those of A and of B and B's length.
std::uint32_t CombineCrc32(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t size_b);

// CRC-32C (Castagnoli, RFC 3720), the same way.
std::uint32_t ExtendCrc32c(std::uint32_t crc, std::span<const std::byte> data);
std::uint32_t CombineCrc32c(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t size_b);

// CRC-64/NVME (NVM Express, NVM Command Set Specification 5.2.1.3.4), the same way. Uses carry-less
// multiplication where the processor has it.
std::uint64_t ExtendCrc64Nvme(std::uint64_t crc, std::span<const std::byte> data);
std::uint64_t CombineCrc64Nvme(std::uint64_t crc_a, std::uint64_t crc_b, std::uint64_t size_b);

// The table-driven form that processors without carry-less multiplication run. For tests.
std::uint64_t ExtendCrc64NvmePortable(std::uint64_t crc, std::span<const std::byte> data);

enum class ChecksumAlgorithm : std::uint8_t { kNone, kCrc32, kCrc32c, kCrc64Nvme };
// All but kNone, the strongest first.
inline constexpr std::array kChecksumAlgorithms = {
    ChecksumAlgorithm::kCrc64Nvme, ChecksumAlgorithm::kCrc32c, ChecksumAlgorithm::kCrc32};

// "CRC32", "CRC32C", "CRC64NVME": the value of x-amz-checksum-algorithm. "" for kNone.
std::string_view ChecksumName(ChecksumAlgorithm algorithm);
// "x-amz-checksum-crc32c", …: the header that carries the value.
std::string_view ChecksumHeader(ChecksumAlgorithm algorithm);
// The element of CompleteMultipartUpload that carries a part's value: "ChecksumCRC32C", ….
std::string_view ChecksumElement(ChecksumAlgorithm algorithm);

// One running checksum of any kind, so that callers need not branch.
class Checksum {
 public:
  explicit Checksum(ChecksumAlgorithm algorithm, std::uint64_t value = 0)
      : algorithm_(algorithm), value_(value) {}

  void Extend(std::span<const std::byte> data);
  // Appends what `next` stands for, `next_size` bytes. REQUIRES: the same algorithm.
  void Append(const Checksum& next, std::uint64_t next_size);

  ChecksumAlgorithm algorithm() const { return algorithm_; }
  std::uint64_t value() const { return value_; }
  // As headers and XML carry it: base64 of the big-endian bytes. "" for kNone.
  std::string ToHeader() const;

  bool operator==(const Checksum&) const = default;

 private:
  ChecksumAlgorithm algorithm_;
  std::uint64_t value_;
};

// What a server says of an object's or a part's checksum.
struct StoredChecksum {
  Checksum checksum{ChecksumAlgorithm::kNone};
  // Over the whole object's bytes. Otherwise over the parts' checksums ("…-3", COMPOSITE), which
  // cannot be compared with a checksum of the bytes.
  bool full_object = false;
  std::uint32_t parts = 0;  // of a composite value; 0 otherwise
};

// Reads the value of a checksum header or element. `type` is that of x-amz-checksum-type: "" when
// the server sent none, which old servers do for single-part objects. kProtocol when it is
// malformed.
Result<StoredChecksum> ParseStoredChecksum(ChecksumAlgorithm algorithm, std::string_view value,
                                           std::string_view type);

// RFC 4648 base64 with padding.
std::string Base64Encode(std::span<const std::byte> data);
// nullopt unless `text` is exactly what Base64Encode would write.
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace headrace::s3
