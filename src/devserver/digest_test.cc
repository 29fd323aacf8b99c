#include "devserver/digest.h"

#include <gtest/gtest.h>

#include "devserver/text.h"

namespace headrace::devserver {
namespace {

std::string ChecksumOf(ChecksumAlgorithm algorithm, std::string_view data) {
  auto hasher = NewChecksum(algorithm);
  hasher->Update(data);
  return hasher->Finish();
}

TEST(Digest, KnownDigests) {
  EXPECT_EQ(HexEncode(Sha256("")), kEmptySha256Hex);
  EXPECT_EQ(HexEncode(Md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
  // RFC 4231, test cases 2 and 6 (a key longer than a block).
  EXPECT_EQ(HexEncode(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(HexEncode(HmacSha256(std::string(131, '\xaa'),
                                 "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// The check values of the catalogue of parametrised CRCs.
TEST(Digest, KnownChecksums) {
  EXPECT_EQ(HexEncode(ChecksumOf(ChecksumAlgorithm::kCrc32, "123456789")), "cbf43926");
  EXPECT_EQ(HexEncode(ChecksumOf(ChecksumAlgorithm::kCrc32c, "123456789")), "e3069283");
  EXPECT_EQ(HexEncode(ChecksumOf(ChecksumAlgorithm::kCrc64nvme, "123456789")), "ae8b14860a799888");
  EXPECT_EQ(HexEncode(ChecksumOf(ChecksumAlgorithm::kSha1, "abc")),
            "a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST(Digest, PiecesGiveTheChecksumOfTheWhole) {
  std::string data;
  for (int i = 0; i < 5000; ++i) data += static_cast<char>(i * 131 + (i >> 5));
  for (ChecksumAlgorithm algorithm : kChecksumAlgorithms) {
    auto hasher = NewChecksum(algorithm);
    for (std::size_t at = 0, n = 1; at < data.size(); at += n, n = n % 37 + 1) {
      hasher->Update(std::string_view(data).substr(at, n));
    }
    EXPECT_EQ(hasher->Finish(), ChecksumOf(algorithm, data)) << ChecksumName(algorithm);
  }
}

TEST(Digest, CrcsOfPartsCombine) {
  std::string data(3000, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * i);
  for (ChecksumAlgorithm algorithm : kChecksumAlgorithms) {
    if (!IsCrc(algorithm)) continue;
    for (std::size_t cut : {0U, 1U, 7U, 1500U, 2999U, 3000U}) {
      std::string_view a = std::string_view(data).substr(0, cut);
      std::string_view b = std::string_view(data).substr(cut);
      EXPECT_EQ(CombineCrc(algorithm, ChecksumOf(algorithm, a), ChecksumOf(algorithm, b), b.size()),
                ChecksumOf(algorithm, data))
          << ChecksumName(algorithm) << " cut at " << cut;
    }
  }
}

}  // namespace
}  // namespace headrace::devserver
