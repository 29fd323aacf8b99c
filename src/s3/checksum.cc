#include "s3/checksum.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <limits>

#include <isa-l/crc.h>

namespace headrace::s3 {
namespace {

// The CRC of A followed by B is crc(A) * x^(8 |B|) + crc(B) modulo P: the initial and the final
// inversion cancel (Mark Adler, zlib's crc32_combine). Polynomials are reflected.
template <typename Word, Word kPoly>
struct CrcRing {
  static constexpr int kBits = std::numeric_limits<Word>::digits;
  static constexpr Word kOne = Word{1} << (kBits - 1);

  static constexpr Word Multiply(Word a, Word b) {
    Word product = 0;
    for (Word bit = kOne; bit != 0; bit >>= 1) {
      if ((a & bit) != 0) product ^= b;
      b = (b >> 1) ^ ((b & 1) != 0 ? kPoly : 0);
    }
    return product;
  }

  // squares[k] = x^(8 * 2^k)
  static constexpr std::array<Word, 64> MakeSquares() {
    std::array<Word, 64> squares{};
    Word power = kOne >> 8;
    for (Word& square : squares) {
      square = power;
      power = Multiply(power, power);
    }
    return squares;
  }
  static constexpr std::array<Word, 64> kSquares = MakeSquares();

  static Word Combine(Word crc_a, Word crc_b, std::uint64_t size_b) {
    for (int k = 0; size_b != 0; ++k, size_b >>= 1) {
      if ((size_b & 1) != 0) crc_a = Multiply(kSquares[k], crc_a);
    }
    return crc_a ^ crc_b;
  }
};

using Ring32 = CrcRing<std::uint32_t, 0xEDB88320>;
using Ring32c = CrcRing<std::uint32_t, 0x82F63B78>;
using Ring64 = CrcRing<std::uint64_t, 0x9A6C9329AC4BC9B5>;

constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<signed char, 256> MakeBase64Values() {
  std::array<signed char, 256> values{};
  for (signed char& value : values) value = -1;
  for (int i = 0; i < 64; ++i)
    values[static_cast<unsigned char>(kBase64[i])] = static_cast<signed char>(i);
  return values;
}
constexpr std::array<signed char, 256> kBase64Values = MakeBase64Values();

struct Facts {
  std::string_view name;
  std::string_view header;
  std::string_view element;
  int size;  // of the value, in bytes
};

const Facts& FactsOf(ChecksumAlgorithm algorithm) {
  static constexpr std::array<Facts, 4> kFacts = {
      Facts{"", "", "", 0},
      {"CRC32", "x-amz-checksum-crc32", "ChecksumCRC32", 4},
      {"CRC32C", "x-amz-checksum-crc32c", "ChecksumCRC32C", 4},
      {"CRC64NVME", "x-amz-checksum-crc64nvme", "ChecksumCRC64NVME", 8}};
  return kFacts[static_cast<std::size_t>(algorithm)];
}

}  // namespace

std::uint32_t ExtendCrc32(std::uint32_t crc, std::span<const std::byte> data) {
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(data.data()), data.size());
}

std::uint32_t CombineCrc32(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t size_b) {
  return Ring32::Combine(crc_a, crc_b, size_b);
}

std::uint32_t ExtendCrc32c(std::uint32_t crc, std::span<const std::byte> data) {
  // crc32_iscsi neither inverts its seed nor its result, and takes an int for the length.
  constexpr std::size_t kMaxPiece = std::size_t{1} << 30;
  std::uint32_t state = ~crc;
  while (!data.empty()) {
    const std::span<const std::byte> piece = data.first(std::min(data.size(), kMaxPiece));
    auto* bytes = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(piece.data()));
    state = crc32_iscsi(bytes, static_cast<int>(piece.size()), state);
    data = data.subspan(piece.size());
  }
  return ~state;
}

std::uint32_t CombineCrc32c(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t size_b) {
  return Ring32c::Combine(crc_a, crc_b, size_b);
}

std::uint64_t CombineCrc64Nvme(std::uint64_t crc_a, std::uint64_t crc_b, std::uint64_t size_b) {
  return Ring64::Combine(crc_a, crc_b, size_b);
}

std::string_view ChecksumName(ChecksumAlgorithm algorithm) { return FactsOf(algorithm).name; }
std::string_view ChecksumHeader(ChecksumAlgorithm algorithm) { return FactsOf(algorithm).header; }
std::string_view ChecksumElement(ChecksumAlgorithm algorithm) { return FactsOf(algorithm).element; }

void Checksum::Extend(std::span<const std::byte> data) {
  switch (algorithm_) {
    case ChecksumAlgorithm::kNone:
      break;
    case ChecksumAlgorithm::kCrc32:
      value_ = ExtendCrc32(static_cast<std::uint32_t>(value_), data);
      break;
    case ChecksumAlgorithm::kCrc32c:
      value_ = ExtendCrc32c(static_cast<std::uint32_t>(value_), data);
      break;
    case ChecksumAlgorithm::kCrc64Nvme:
      value_ = ExtendCrc64Nvme(value_, data);
      break;
  }
}

void Checksum::Append(const Checksum& next, std::uint64_t next_size) {
  const auto mine = static_cast<std::uint32_t>(value_);
  const auto other = static_cast<std::uint32_t>(next.value_);
  switch (algorithm_) {
    case ChecksumAlgorithm::kNone:
      break;
    case ChecksumAlgorithm::kCrc32:
      value_ = CombineCrc32(mine, other, next_size);
      break;
    case ChecksumAlgorithm::kCrc32c:
      value_ = CombineCrc32c(mine, other, next_size);
      break;
    case ChecksumAlgorithm::kCrc64Nvme:
      value_ = CombineCrc64Nvme(value_, next.value_, next_size);
      break;
  }
}

std::string Checksum::ToHeader() const {
  std::array<std::byte, 8> bytes;
  const int size = FactsOf(algorithm_).size;
  for (int i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(value_ >> (8 * (size - 1 - i)));
  return Base64Encode(std::span(bytes).first(size));
}

Result<StoredChecksum> ParseStoredChecksum(ChecksumAlgorithm algorithm, std::string_view value,
                                           std::string_view type) {
  auto malformed = [&] {
    return Status(StatusCode::kProtocol,
                  fmt::format("'{}' is not a {} checksum", value, ChecksumName(algorithm)));
  };
  StoredChecksum stored;
  std::string_view encoded = value;
  // '-' is no base64 digit, so it can only part the value from a number of parts.
  if (const std::size_t dash = value.find('-'); dash != std::string_view::npos) {
    encoded = value.substr(0, dash);
    const std::string_view parts = value.substr(dash + 1);
    const auto [end, error] =
        std::from_chars(parts.data(), parts.data() + parts.size(), stored.parts);
    if (error != std::errc() || end != parts.data() + parts.size() || stored.parts == 0) {
      return malformed();
    }
  }
  const std::optional<std::string> bytes = Base64Decode(encoded);
  if (!bytes || bytes->size() != static_cast<std::size_t>(FactsOf(algorithm).size) ||
      bytes->empty()) {
    return malformed();
  }
  std::uint64_t number = 0;
  for (const char c : *bytes) number = number << 8 | static_cast<unsigned char>(c);
  stored.checksum = Checksum(algorithm, number);
  stored.full_object = stored.parts == 0 && type != "COMPOSITE";
  return stored;
}

std::string Base64Encode(std::span<const std::byte> data) {
  std::string out;
  out.reserve((data.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < data.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, data.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < n ? static_cast<std::uint32_t>(data[i + k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= n ? kBase64[(group >> (18 - 6 * k)) & 63] : '=';
    }
  }
  return out;
}

std::optional<std::string> Base64Decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::size_t digits = 4;
    if (i + 4 == text.size()) {
      while (digits > 2 && text[i + digits - 1] == '=') --digits;
    }
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const int value = k < digits ? kBase64Values[static_cast<unsigned char>(text[i + k])] : 0;
      if (value < 0) return std::nullopt;
      group = group << 6 | static_cast<std::uint32_t>(value);
    }
    const std::uint32_t unused = digits == 2 ? 0xFFFF : digits == 3 ? 0xFF : 0;
    if ((group & unused) != 0) return std::nullopt;
    for (std::size_t k = 0; k + 1 < digits; ++k) out += static_cast<char>(group >> (16 - 8 * k));
  }
  return out;
}

}  // namespace headrace::s3
