// SHA-256 and HMAC-SHA-256, with the parts that repeat from request to request kept.
//
// An HMAC begins by hashing its padded key. HmacKey keeps the two hash states reached after that,
// so that a message costs two state copies and its own bytes: the signing key is the same all day.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;
struct evp_md_st;

namespace headrace::s3 {

using Digest256 = std::array<unsigned char, 32>;

// Appends the digest as 64 lower-case hex digits.
void AppendHex(std::string& out, const Digest256& digest);

// Hashes one message after another with one context. Not thread-safe: one per thread.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  // False when OpenSSL cannot give SHA-256 (a broken configuration of its providers).
  [[nodiscard]] bool Hash(std::string_view message, Digest256* digest);

 private:
  friend class HmacKey;
  evp_md_st* algorithm_;
  evp_md_ctx_st* context_;
};

// One HMAC key, ready for use. Compute() may run on several threads, each with its own Sha256.
class HmacKey {
 public:
  HmacKey() = default;
  ~HmacKey();
  HmacKey(HmacKey&& other) noexcept;
  HmacKey& operator=(HmacKey&& other) noexcept;

  [[nodiscard]] bool Set(Sha256& sha, std::string_view key);
  [[nodiscard]] bool Compute(Sha256& sha, std::string_view message, Digest256* digest) const;

 private:
  void Free();
  evp_md_ctx_st* inner_ = nullptr;
  evp_md_ctx_st* outer_ = nullptr;
};

// The hex SHA-256 of `message`, as in x-amz-content-sha256. Empty when OpenSSL fails.
std::string Sha256Hex(std::string_view message);

}  // namespace headrace::s3
