#include "s3/etag.h"

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <openssl/evp.h>

namespace headrace::s3 {
namespace {

std::string Md5Hex(const void* data, std::size_t size) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  std::string text;
  if (EVP_Digest(data, size, digest.data(), &length, EVP_md5(), nullptr) != 1) return text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace

std::string WholeEtag(std::span<const std::byte> data) { return Md5Hex(data.data(), data.size()); }

std::optional<std::string> MultipartEtag(const std::vector<std::string_view>& part_etags) {
  constexpr std::size_t kMd5 = 16;
  std::string digests;
  for (const std::string_view etag : part_etags) {
    const std::string_view bare = BareEtag(etag);
    if (bare.size() != 2 * kMd5) return std::nullopt;
    for (std::size_t i = 0; i < bare.size(); i += 2) {
      unsigned char byte = 0;
      const auto [end, error] = std::from_chars(&bare[i], &bare[i] + 2, byte, 16);
      if (error != std::errc() || end != &bare[i] + 2) return std::nullopt;
      digests += static_cast<char>(byte);
    }
  }
  return fmt::format("{}-{}", Md5Hex(digests.data(), digests.size()), part_etags.size());
}

}  // namespace headrace::s3
