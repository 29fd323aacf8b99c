#include "s3/checksum.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "base/random.h"

namespace headrace::s3 {
namespace {

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::vector<std::byte> RandomBytes(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> data(size);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random.Next());
  return data;
}

// One bit at a time, straight from the definition.
template <typename Word>
Word SlowCrc(Word poly, std::span<const std::byte> data) {
  Word crc = ~Word{0};
  for (const std::byte byte : data) {
    crc ^= static_cast<Word>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? poly : 0);
  }
  return ~crc;
}

TEST(Crc32, AgreesWithTheDefinition) {
  EXPECT_EQ(ExtendCrc32(0, Bytes("123456789")), 0xCBF43926);
  EXPECT_EQ(ExtendCrc32(0, {}), 0u);
  const std::vector<std::byte> data = RandomBytes(3000, 5);
  for (std::size_t size = 0; size <= data.size(); size += 61) {
    const auto piece = std::span(data).first(size);
    ASSERT_EQ(ExtendCrc32(0, piece), SlowCrc<std::uint32_t>(0xEDB88320, piece)) << size;
  }
}

TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(ExtendCrc32c(0, Bytes("123456789")), 0xE3069283);
  EXPECT_EQ(ExtendCrc32c(0, {}), 0u);
  const std::vector<std::byte> zeros(32);  // RFC 3720 B.4
  EXPECT_EQ(ExtendCrc32c(0, zeros), 0x8A9136AAu);
}

TEST(Crc64Nvme, KnownVectors) {
  EXPECT_EQ(ExtendCrc64Nvme(0, Bytes("123456789")), 0xAE8B14860A799888);
  EXPECT_EQ(ExtendCrc64Nvme(0, {}), 0u);
  const std::vector<std::byte> zeros(4096);  // NVM Command Set Specification, figure "Test Cases"
  EXPECT_EQ(ExtendCrc64Nvme(0, zeros), 0x6482D367EB22B64E);
  const std::vector<std::byte> ones(4096, std::byte{0xFF});
  EXPECT_EQ(ExtendCrc64Nvme(0, ones), 0xC0DDBA7302ECA3AC);
}

TEST(Crc64Nvme, EveryLengthAndAlignmentAgreesWithTheDefinition) {
  const std::vector<std::byte> data = RandomBytes(700, 1);
  for (std::size_t begin = 0; begin < 17; ++begin) {
    for (std::size_t size = 0; begin + size <= data.size(); size += size < 200 ? 1 : 37) {
      const auto piece = std::span(data).subspan(begin, size);
      const std::uint64_t expected = SlowCrc<std::uint64_t>(0x9A6C9329AC4BC9B5, piece);
      ASSERT_EQ(ExtendCrc64Nvme(0, piece), expected) << begin << "+" << size;
      ASSERT_EQ(ExtendCrc64NvmePortable(0, piece), expected) << begin << "+" << size;
    }
  }
}

TEST(Crc32c, AgreesWithTheDefinition) {
  const std::vector<std::byte> data = RandomBytes(3000, 2);
  for (std::size_t size = 0; size <= data.size(); size += 61) {
    const auto piece = std::span(data).first(size);
    ASSERT_EQ(ExtendCrc32c(0, piece), SlowCrc<std::uint32_t>(0x82F63B78, piece)) << size;
  }
}

TEST(Checksum, ExtendsPieceByPieceAndCombines) {
  const std::vector<std::byte> data = RandomBytes(100'000, 3);
  Random random(4);
  for (const ChecksumAlgorithm algorithm : kChecksumAlgorithms) {
    Checksum whole(algorithm);
    whole.Extend(data);
    EXPECT_NE(whole.value(), 0u);
    for (int round = 0; round < 20; ++round) {
      const std::size_t cut = random.Below(data.size() + 1);
      const auto a = std::span(data).first(cut);
      const auto b = std::span(data).subspan(cut);
      Checksum running(algorithm);
      running.Extend(a);
      Checksum joined = running;
      running.Extend(b);
      EXPECT_EQ(running, whole) << cut;
      Checksum tail(algorithm);
      tail.Extend(b);
      joined.Append(tail, b.size());
      EXPECT_EQ(joined, whole) << cut;
    }
  }
}

TEST(Checksum, CombinesLengthsNoBufferCouldHold) {
  // crc(0^n) by doubling, against one step of Combine.
  std::uint64_t zeros = ExtendCrc64Nvme(0, std::vector<std::byte>(1));
  std::uint64_t size = 1;
  for (int i = 0; i < 43; ++i) {
    zeros = CombineCrc64Nvme(zeros, zeros, size);
    size *= 2;
  }
  EXPECT_EQ(CombineCrc64Nvme(0, zeros, size), zeros);
  // Two ways to the same string of 2^43 + 3 zeros.
  const std::uint64_t three = ExtendCrc64Nvme(0, std::vector<std::byte>(3));
  EXPECT_EQ(CombineCrc64Nvme(zeros, three, 3), CombineCrc64Nvme(three, zeros, size));
}

TEST(Checksum, HeadersAreBase64OfBigEndian) {
  Checksum crc32c(ChecksumAlgorithm::kCrc32c);
  crc32c.Extend(Bytes("123456789"));
  EXPECT_EQ(crc32c.ToHeader(), "4waSgw==");
  Checksum crc64(ChecksumAlgorithm::kCrc64Nvme);
  crc64.Extend(Bytes("123456789"));
  EXPECT_EQ(crc64.ToHeader(), "rosUhgp5mIg=");
  EXPECT_EQ(ChecksumHeader(ChecksumAlgorithm::kCrc64Nvme), "x-amz-checksum-crc64nvme");
  EXPECT_EQ(Checksum(ChecksumAlgorithm::kNone).ToHeader(), "");
}

TEST(Checksum, StoredValuesAreOfTheObjectOrOfItsParts) {
  Result<StoredChecksum> full =
      ParseStoredChecksum(ChecksumAlgorithm::kCrc32c, "4waSgw==", "FULL_OBJECT");
  ASSERT_TRUE(full.ok());
  EXPECT_TRUE(full->full_object);
  EXPECT_EQ(full->checksum, Checksum(ChecksumAlgorithm::kCrc32c, 0xE3069283));

  Result<StoredChecksum> parts = ParseStoredChecksum(ChecksumAlgorithm::kCrc32c, "4waSgw==-3", "");
  ASSERT_TRUE(parts.ok());
  EXPECT_FALSE(parts->full_object);
  EXPECT_EQ(parts->parts, 3u);

  EXPECT_TRUE(ParseStoredChecksum(ChecksumAlgorithm::kCrc64Nvme, "rosUhgp5mIg=", "")->full_object);
  EXPECT_FALSE(
      ParseStoredChecksum(ChecksumAlgorithm::kCrc32c, "4waSgw==", "COMPOSITE")->full_object);
}

TEST(Checksum, MalformedValuesAreProtocolErrors) {
  for (const char* value : {"", "4waSgw", "4waSgw==-", "4waSgw==-0", "4waSgw==-x",
                            "rosUhgp5mIg=", "!!!!", "4waSgx==", "-3", "4waSgw==-3-3"}) {
    Result<StoredChecksum> parsed = ParseStoredChecksum(ChecksumAlgorithm::kCrc32c, value, "");
    ASSERT_FALSE(parsed.ok()) << value;
    EXPECT_EQ(parsed.status().code(), StatusCode::kProtocol);
  }
}

TEST(Base64, RoundTripsEveryLength) {
  EXPECT_EQ(Base64Encode(Bytes("f")), "Zg==");
  EXPECT_EQ(Base64Encode(Bytes("fo")), "Zm8=");
  EXPECT_EQ(Base64Encode(Bytes("foobar")), "Zm9vYmFy");
  for (std::size_t size = 0; size < 40; ++size) {
    const std::vector<std::byte> data = RandomBytes(size, size);
    const std::optional<std::string> back = Base64Decode(Base64Encode(data));
    ASSERT_TRUE(back);
    EXPECT_TRUE(std::ranges::equal(Bytes(*back), data)) << size;
  }
}

TEST(Base64, RefusesWhatItWouldNotWrite) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg===", "=g==", "Zm=v", "Zh==", "Zm9=", "Z g=", "===="}) {
    EXPECT_FALSE(Base64Decode(text)) << text;
  }
}

}  // namespace
}  // namespace headrace::s3
