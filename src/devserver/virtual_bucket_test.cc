#include "devserver/virtual_bucket.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace headrace::devserver {
namespace {

class VirtualFile : public testing::Test {
 protected:
  VirtualFile() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "headrace-virtual-XXXXXX").string();
    close(mkstemp(pattern.data()));
    path_ = pattern;
  }
  ~VirtualFile() override { std::filesystem::remove(path_); }
  auto Read(std::string_view text) {
    std::ofstream(path_) << text;
    return ReadVirtualFile(path_);
  }
  std::string path_;
};

TEST_F(VirtualFile, HoldsSingleKeysAndRuns) {
  auto buckets = Read(
      "{\"key\": \"b\", \"size\": 5}\n{\"key\": \"a\", \"size\": 0}\n\n"
      "{\"bucket\": \"other\", \"prefix\": \"t/\", \"digits\": 3, \"suffix\": \".jpg\", "
      "\"count\": 200, \"size\": 7}\n");
  ASSERT_TRUE(buckets.ok()) << buckets.status().ToString();
  ASSERT_EQ(buckets->size(), 2U);
  const VirtualBucket& other = *buckets->at("other");
  EXPECT_EQ(other.size(), 200U);
  EXPECT_EQ(other.Find("t/199.jpg")->size, 7U);
  EXPECT_EQ(other.Find("t/200.jpg"), nullptr);
  auto cursor = buckets->at("virtual")->NewCursor();
  cursor->Seek("");
  EXPECT_EQ(cursor->Key(), "a");
  cursor->Next();
  EXPECT_EQ(cursor->Key(), "b");
  cursor->Next();
  EXPECT_FALSE(cursor->Valid());
}

TEST_F(VirtualFile, ErrorsNameTheLine) {
  for (const char* bad : {"{\"key\": \"a\", \"size\": 1}\nnonsense\n",
                          "{\"key\": \"a\", \"size\": 1}\n{\"key\": \"b\"}\n",
                          "{\"key\": \"a\", \"size\": 1}\n{\"size\": 1}\n"}) {
    auto buckets = Read(bad);
    ASSERT_FALSE(buckets.ok()) << bad;
    EXPECT_NE(buckets.status().message().find("line 2"), std::string::npos)
        << buckets.status().message();
  }
  EXPECT_FALSE(Read("{\"key\": \"a\", \"size\": 1}\n{\"key\": \"a\", \"size\": 2}\n").ok());
  EXPECT_FALSE(ReadVirtualFile("/nowhere/at/all").ok());
}

TEST_F(VirtualFile, TheBytesOfAKeyNeverChange) {
  auto buckets = Read("{\"key\": \"k\", \"size\": 100}\n");
  // Frozen: tests in other languages compute the same.
  EXPECT_EQ(buckets->at("virtual")->Find("k")->generated_at, 3954534U);
  auto pool = MakeGeneratedPool();
  ASSERT_TRUE(pool.ok());
  std::array<unsigned char, 8> first;
  ASSERT_EQ(pread((*pool)->fd(), first.data(), 8, 0), 8);
  EXPECT_EQ(first, (std::array<unsigned char, 8>{0xaf, 0xcd, 0x1d, 0x7b, 0x39, 0xa8, 0x20, 0xe2}));
}

}  // namespace
}  // namespace headrace::devserver
