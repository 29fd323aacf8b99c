#include "s3/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <utility>

namespace headrace::s3 {
namespace {

constexpr std::size_t kBlockSize = 64;

std::string_view AsView(const Digest256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

void AppendHex(std::string& out, const Digest256& digest) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::array<char, 64> text;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    text[2 * i] = kHex[digest[i] >> 4];
    text[2 * i + 1] = kHex[digest[i] & 15];
  }
  out.append(text.data(), text.size());
}

// Fetching the algorithm once spares each EVP_DigestInit_ex a search through the providers.
Sha256::Sha256()
    : algorithm_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {}

Sha256::~Sha256() {
  EVP_MD_CTX_free(context_);
  EVP_MD_free(algorithm_);
}

bool Sha256::Hash(std::string_view message, Digest256* digest) {
  return algorithm_ != nullptr && context_ != nullptr &&
         EVP_DigestInit_ex(context_, algorithm_, nullptr) == 1 &&
         EVP_DigestUpdate(context_, message.data(), message.size()) == 1 &&
         EVP_DigestFinal_ex(context_, digest->data(), nullptr) == 1;
}

HmacKey::~HmacKey() { Free(); }

HmacKey::HmacKey(HmacKey&& other) noexcept
    : inner_(std::exchange(other.inner_, nullptr)), outer_(std::exchange(other.outer_, nullptr)) {}

HmacKey& HmacKey::operator=(HmacKey&& other) noexcept {
  if (this != &other) {
    Free();
    inner_ = std::exchange(other.inner_, nullptr);
    outer_ = std::exchange(other.outer_, nullptr);
  }
  return *this;
}

void HmacKey::Free() {
  EVP_MD_CTX_free(inner_);
  EVP_MD_CTX_free(outer_);
  inner_ = outer_ = nullptr;
}

bool HmacKey::Set(Sha256& sha, std::string_view key) {
  Digest256 hashed_key;
  if (key.size() > kBlockSize) {
    if (!sha.Hash(key, &hashed_key)) return false;
    key = AsView(hashed_key);
  }
  std::array<unsigned char, kBlockSize> inner_pad;
  std::array<unsigned char, kBlockSize> outer_pad;
  for (std::size_t i = 0; i < kBlockSize; ++i) {
    const auto byte = static_cast<unsigned char>(i < key.size() ? key[i] : 0);
    inner_pad[i] = byte ^ 0x36;
    outer_pad[i] = byte ^ 0x5C;
  }
  if (inner_ == nullptr) inner_ = EVP_MD_CTX_new();
  if (outer_ == nullptr) outer_ = EVP_MD_CTX_new();
  const bool ok = inner_ != nullptr && outer_ != nullptr && sha.algorithm_ != nullptr &&
                  EVP_DigestInit_ex(inner_, sha.algorithm_, nullptr) == 1 &&
                  EVP_DigestUpdate(inner_, inner_pad.data(), kBlockSize) == 1 &&
                  EVP_DigestInit_ex(outer_, sha.algorithm_, nullptr) == 1 &&
                  EVP_DigestUpdate(outer_, outer_pad.data(), kBlockSize) == 1;
  OPENSSL_cleanse(inner_pad.data(), kBlockSize);
  OPENSSL_cleanse(outer_pad.data(), kBlockSize);
  OPENSSL_cleanse(hashed_key.data(), hashed_key.size());
  return ok;
}

bool HmacKey::Compute(Sha256& sha, std::string_view message, Digest256* digest) const {
  Digest256 inner;
  return inner_ != nullptr && sha.context_ != nullptr &&
         EVP_MD_CTX_copy_ex(sha.context_, inner_) == 1 &&
         EVP_DigestUpdate(sha.context_, message.data(), message.size()) == 1 &&
         EVP_DigestFinal_ex(sha.context_, inner.data(), nullptr) == 1 &&
         EVP_MD_CTX_copy_ex(sha.context_, outer_) == 1 &&
         EVP_DigestUpdate(sha.context_, inner.data(), inner.size()) == 1 &&
         EVP_DigestFinal_ex(sha.context_, digest->data(), nullptr) == 1;
}

std::string Sha256Hex(std::string_view message) {
  Sha256 sha;
  Digest256 digest;
  std::string hex;
  if (sha.Hash(message, &digest)) AppendHex(hex, digest);
  return hex;
}

}  // namespace headrace::s3
