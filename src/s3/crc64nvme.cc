// CRC-64/NVME: eight table look-ups a step, or folding by carry-less multiplication.
//
// The CRC is reflected: bit i of a 64-bit word is the coefficient of x^(63-i). Folding keeps a
// 128-bit remainder R of the bytes so far and, to move it D bits further, replaces its halves by
// their products with x^(D+64) and x^D modulo P. A carry-less product of two reflected words comes
// out multiplied by x, hence the exponents D+63 and D-1 below. (Gopal et al., "Fast CRC Computation
// for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009.) The last 128 bits are a
// message like any other for the table.
#include <array>
#include <bit>
#include <cstring>

#include "s3/checksum.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headrace::s3 {
namespace {

constexpr std::uint64_t kPoly = 0x9A6C9329AC4BC9B5;  // reflected, without its x^64

using Tables = std::array<std::array<std::uint64_t, 256>, 8>;

// tables[k][b] is the remainder of byte b followed by k zero bytes.
constexpr Tables MakeTables() {
  Tables tables{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    std::uint64_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPoly : 0);
    tables[0][byte] = crc;
  }
  for (int k = 1; k < 8; ++k) {
    for (int byte = 0; byte < 256; ++byte) {
      const std::uint64_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

// `state` is the CRC before its final inversion.
std::uint64_t UpdateByTable(std::uint64_t state, const unsigned char* p, std::size_t n) {
  static_assert(std::endian::native == std::endian::little);
  for (; n >= 8; p += 8, n -= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    word ^= state;
    state = 0;
    for (int k = 0; k < 8; ++k) state ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; n > 0; ++p, --n) state = (state >> 8) ^ kTables[0][(state ^ *p) & 0xFF];
  return state;
}

#if defined(__x86_64__)

// x^n modulo P.
constexpr std::uint64_t PowerOfX(int n) {
  std::uint64_t value = std::uint64_t{1} << 63;
  for (; n > 0; --n) value = (value >> 1) ^ ((value & 1) != 0 ? kPoly : 0);
  return value;
}

constexpr std::uint64_t kFold512[2] = {PowerOfX(512 + 63), PowerOfX(512 - 1)};
constexpr std::uint64_t kFold128[2] = {PowerOfX(128 + 63), PowerOfX(128 - 1)};

__attribute__((target("pclmul,sse4.1"))) __m128i Load(const unsigned char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

// Moves `remainder` on by the distance of `constants` and adds `next`.
__attribute__((target("pclmul,sse4.1"))) __m128i Fold(__m128i remainder, __m128i constants,
                                                      __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(remainder, constants, 0x00);
  const __m128i high = _mm_clmulepi64_si128(remainder, constants, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// REQUIRES: n >= 64.
__attribute__((target("pclmul,sse4.1"))) std::uint64_t UpdateByFolding(std::uint64_t state,
                                                                       const unsigned char* p,
                                                                       std::size_t n) {
  const __m128i by512 = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kFold512));
  const __m128i by128 = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kFold128));
  __m128i r0 = _mm_xor_si128(Load(p), _mm_set_epi64x(0, static_cast<long long>(state)));
  __m128i r1 = Load(p + 16);
  __m128i r2 = Load(p + 32);
  __m128i r3 = Load(p + 48);
  p += 64;
  n -= 64;
  // Four remainders at once, because a multiplication takes several cycles to finish.
  for (; n >= 64; p += 64, n -= 64) {
    r0 = Fold(r0, by512, Load(p));
    r1 = Fold(r1, by512, Load(p + 16));
    r2 = Fold(r2, by512, Load(p + 32));
    r3 = Fold(r3, by512, Load(p + 48));
  }
  r0 = Fold(r0, by128, r1);
  r0 = Fold(r0, by128, r2);
  r0 = Fold(r0, by128, r3);
  for (; n >= 16; p += 16, n -= 16) r0 = Fold(r0, by128, Load(p));
  unsigned char rest[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest), r0);
  return UpdateByTable(UpdateByTable(0, rest, sizeof rest), p, n);
}

bool HasCarrylessMultiply() {
  static const bool kHas = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return kHas;
}

#endif

const unsigned char* Bytes(std::span<const std::byte> data) {
  return reinterpret_cast<const unsigned char*>(data.data());
}

}  // namespace

std::uint64_t ExtendCrc64NvmePortable(std::uint64_t crc, std::span<const std::byte> data) {
  return ~UpdateByTable(~crc, Bytes(data), data.size());
}

std::uint64_t ExtendCrc64Nvme(std::uint64_t crc, std::span<const std::byte> data) {
#if defined(__x86_64__)
  if (data.size() >= 64 && HasCarrylessMultiply()) {
    return ~UpdateByFolding(~crc, Bytes(data), data.size());
  }
#endif
  return ExtendCrc64NvmePortable(crc, data);
}

}  // namespace headrace::s3
