#include "devserver/digest.h"

#include <cstring>
#include <openssl/evp.h>

#include <isa-l/crc.h>

#include "devserver/text.h"

namespace headrace::devserver {
namespace {

// Fetching an algorithm by name costs more than hashing a header: fetch each once.
const EVP_MD* FetchedMd5() {
  static const EVP_MD* md = EVP_MD_fetch(nullptr, "MD5", nullptr);
  return md;
}
const EVP_MD* FetchedSha1() {
  static const EVP_MD* md = EVP_MD_fetch(nullptr, "SHA1", nullptr);
  return md;
}
const EVP_MD* FetchedSha256() {
  static const EVP_MD* md = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return md;
}

struct ContextDeleter {
  void operator()(EVP_MD_CTX* ctx) const { EVP_MD_CTX_free(ctx); }
};
using Context = std::unique_ptr<EVP_MD_CTX, ContextDeleter>;

std::string OneShot(const EVP_MD* md, std::string_view a, std::string_view b = {}) {
  thread_local Context ctx(EVP_MD_CTX_new());
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned int size = 0;
  EVP_DigestInit_ex(ctx.get(), md, nullptr);
  EVP_DigestUpdate(ctx.get(), a.data(), a.size());
  if (!b.empty()) EVP_DigestUpdate(ctx.get(), b.data(), b.size());
  EVP_DigestFinal_ex(ctx.get(), out.data(), &size);
  return {reinterpret_cast<char*>(out.data()), size};
}

class EvpHasher final : public Hasher {
 public:
  explicit EvpHasher(const EVP_MD* md) : ctx_(EVP_MD_CTX_new()) {
    EVP_DigestInit_ex(ctx_.get(), md, nullptr);
  }
  void Update(std::string_view data) override {
    EVP_DigestUpdate(ctx_.get(), data.data(), data.size());
  }
  std::string Finish() override {
    std::array<unsigned char, EVP_MAX_MD_SIZE> out;
    unsigned int size = 0;
    EVP_DigestFinal_ex(ctx_.get(), out.data(), &size);
    return {reinterpret_cast<char*>(out.data()), size};
  }

 private:
  Context ctx_;
};

std::string BigEndian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>((value >> (8 * i)) & 255);
  return out;
}

std::uint64_t FromBigEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (unsigned char c : bytes) value = (value << 8) | c;
  return value;
}

// Polynomials in reflected bit order.
constexpr std::uint64_t kPolyCrc32 = 0xEDB88320;
constexpr std::uint64_t kPolyCrc32c = 0x82F63B78;
constexpr std::uint64_t kPolyCrc64nvme = 0x9A6C9329AC4BC9B5;

// Slicing by eight: table[k][b] is the CRC of byte b followed by k zero bytes.
using Crc64Tables = std::array<std::array<std::uint64_t, 256>, 8>;
constexpr Crc64Tables MakeCrc64Tables() {
  Crc64Tables tables{};
  for (std::uint64_t b = 0; b < 256; ++b) {
    std::uint64_t crc = b;
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolyCrc64nvme : 0);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t b = 0; b < 256; ++b) {
      std::uint64_t previous = tables[k - 1][b];
      tables[k][b] = (previous >> 8) ^ tables[0][previous & 255];
    }
  }
  return tables;
}
constexpr Crc64Tables kCrc64Tables = MakeCrc64Tables();

class CrcHasher final : public Hasher {
 public:
  explicit CrcHasher(ChecksumAlgorithm algorithm) : algorithm_(algorithm) {}
  void Update(std::string_view data) override {
    const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
    switch (algorithm_) {
      case ChecksumAlgorithm::kCrc32:
        crc_ = crc32_gzip_refl(static_cast<std::uint32_t>(crc_), bytes, data.size());
        break;
      case ChecksumAlgorithm::kCrc32c:
        // ISA-L leaves the inversions to the caller and takes the length as an int; callers here
        // pass network-sized pieces.
        crc_ = ~crc32_iscsi(const_cast<unsigned char*>(bytes), static_cast<int>(data.size()),
                            ~static_cast<std::uint32_t>(crc_));
        break;
      default:
        crc_ = Crc64Nvme(crc_, data);
    }
  }
  std::string Finish() override {
    return algorithm_ == ChecksumAlgorithm::kCrc64nvme ? BigEndian(crc_, 8)
                                                       : BigEndian(crc_ & 0xFFFFFFFF, 4);
  }

 private:
  ChecksumAlgorithm algorithm_;
  std::uint64_t crc_ = 0;
};

// Advancing a CRC over n zero bytes is linear over GF(2): a matrix with one column per bit.
using Matrix = std::array<std::uint64_t, 64>;

std::uint64_t Multiply(const Matrix& matrix, std::uint64_t vector) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; vector != 0; vector >>= 1, ++i) {
    if ((vector & 1) != 0) sum ^= matrix[i];
  }
  return sum;
}

Matrix Square(const Matrix& matrix, std::size_t width) {
  Matrix out{};
  for (std::size_t i = 0; i < width; ++i) out[i] = Multiply(matrix, matrix[i]);
  return out;
}

}  // namespace

std::string Sha256(std::string_view data) { return OneShot(FetchedSha256(), data); }
std::string Md5(std::string_view data) { return OneShot(FetchedMd5(), data); }

std::string HmacSha256(std::string_view key, std::string_view data) {
  std::array<char, 64> block{};
  std::string hashed;
  if (key.size() > block.size()) {
    hashed = Sha256(key);
    key = hashed;
  }
  std::memcpy(block.data(), key.data(), key.size());
  for (char& c : block) c ^= 0x36;
  std::string inner = OneShot(FetchedSha256(), {block.data(), block.size()}, data);
  for (char& c : block) c ^= 0x36 ^ 0x5c;
  return OneShot(FetchedSha256(), {block.data(), block.size()}, inner);
}

std::string_view ChecksumName(ChecksumAlgorithm algorithm) {
  static constexpr std::array<std::string_view, 5> kNames = {"CRC32", "CRC32C", "CRC64NVME", "SHA1",
                                                             "SHA256"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

std::string_view ChecksumHeader(ChecksumAlgorithm algorithm) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "x-amz-checksum-crc32", "x-amz-checksum-crc32c", "x-amz-checksum-crc64nvme",
      "x-amz-checksum-sha1", "x-amz-checksum-sha256"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

std::string_view ChecksumXmlElement(ChecksumAlgorithm algorithm) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "ChecksumCRC32", "ChecksumCRC32C", "ChecksumCRC64NVME", "ChecksumSHA1", "ChecksumSHA256"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

std::optional<ChecksumAlgorithm> ParseChecksumName(std::string_view name) {
  for (ChecksumAlgorithm a : kChecksumAlgorithms) {
    if (EqualsIgnoreCase(name, ChecksumName(a))) return a;
  }
  return std::nullopt;
}

std::optional<ChecksumAlgorithm> ParseChecksumHeader(std::string_view name) {
  for (ChecksumAlgorithm a : kChecksumAlgorithms) {
    if (name == ChecksumHeader(a)) return a;
  }
  return std::nullopt;
}

std::unique_ptr<Hasher> NewMd5() { return std::make_unique<EvpHasher>(FetchedMd5()); }
std::unique_ptr<Hasher> NewSha256() { return std::make_unique<EvpHasher>(FetchedSha256()); }

std::unique_ptr<Hasher> NewChecksum(ChecksumAlgorithm algorithm) {
  if (algorithm == ChecksumAlgorithm::kSha1) return std::make_unique<EvpHasher>(FetchedSha1());
  if (algorithm == ChecksumAlgorithm::kSha256) return NewSha256();
  return std::make_unique<CrcHasher>(algorithm);
}

std::string CombineCrc(ChecksumAlgorithm algorithm, std::string_view crc_a, std::string_view crc_b,
                       std::uint64_t length_b) {
  const bool wide = algorithm == ChecksumAlgorithm::kCrc64nvme;
  const std::size_t width = wide ? 64 : 32;
  const std::uint64_t poly = wide                                      ? kPolyCrc64nvme
                             : algorithm == ChecksumAlgorithm::kCrc32c ? kPolyCrc32c
                                                                       : kPolyCrc32;
  Matrix shift{};  // one zero bit
  shift[0] = poly;
  for (std::size_t i = 1; i < width; ++i) shift[i] = std::uint64_t{1} << (i - 1);
  for (int i = 0; i < 3; ++i) shift = Square(shift, width);  // eight zero bits
  std::uint64_t crc = FromBigEndian(crc_a);
  for (std::uint64_t n = length_b; n != 0; n >>= 1) {
    if ((n & 1) != 0) crc = Multiply(shift, crc);
    shift = Square(shift, width);
  }
  return BigEndian(crc ^ FromBigEndian(crc_b), static_cast<int>(width / 8));
}

std::uint64_t Crc64Nvme(std::uint64_t crc, std::string_view data) {
  crc = ~crc;
  const char* p = data.data();
  std::size_t n = data.size();
  for (; n >= 8; n -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kCrc64Tables[7 - k][(word >> (8 * k)) & 255];
  }
  for (; n > 0; --n, ++p) {
    crc = (crc >> 8) ^ kCrc64Tables[0][(crc ^ static_cast<unsigned char>(*p)) & 255];
  }
  return ~crc;
}

}  // namespace headrace::devserver
