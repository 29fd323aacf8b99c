#include "datagen/datagen.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <turbojpeg.h>
#include <unistd.h>

#include "datagen/shapes.h"

namespace headrace::datagen {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class DatagenTest : public ::testing::Test {
 protected:
  DatagenTest() {
    std::string name = (fs::temp_directory_path() / "datagen-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~DatagenTest() override { fs::remove_all(folder_); }

  // Every file below `folder`, by its path relative to it.
  static std::map<std::string, std::string> Files(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      files[fs::relative(entry.path(), folder).string()] =
          std::string(std::istreambuf_iterator<char>(in), {});
    }
    return files;
  }

  fs::path folder_;
};

TEST_F(DatagenTest, ImagesAreJpegOfTheSizeAndAboutTheWeightThatWereAsked) {
  auto totals = WriteImages({.folder = folder_}, {.train = 20, .held_out = 10}, {});
  ASSERT_TRUE(totals.ok()) << totals.status().ToString();
  const auto files = Files(folder_);
  ASSERT_EQ(files.size(), 30u);
  EXPECT_EQ(totals->files, 30u);
  std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  std::uint64_t bytes = 0;
  for (const auto& [name, jpeg] : files) {
    bytes += jpeg.size();
    int width = 0, height = 0, sampling = 0, space = 0;
    ASSERT_EQ(
        tjDecompressHeader3(decoder.get(), reinterpret_cast<const unsigned char*>(jpeg.data()),
                            jpeg.size(), &width, &height, &sampling, &space),
        0)
        << name;
    EXPECT_EQ(width, 496);
    EXPECT_EQ(height, 387);
  }
  EXPECT_EQ(totals->bytes, bytes);
  EXPECT_NEAR(static_cast<double>(bytes) / files.size(), 115'000, 6'000);
  EXPECT_TRUE(files.contains("train/bars/000010.jpg"));
  EXPECT_TRUE(files.contains("val/triangle/000009.jpg"));
}

TEST_F(DatagenTest, TheSameSeedGivesTheSameBytesOnAnyNumberOfThreads) {
  const ImageSet set{.train = 12, .held_out = 2, .width = 64, .height = 48};
  ASSERT_TRUE(WriteImages({.folder = folder_ / "a", .seed = 7, .threads = 1}, set, {}).ok());
  ASSERT_TRUE(WriteImages({.folder = folder_ / "b", .seed = 7, .threads = 4}, set, {}).ok());
  ASSERT_TRUE(WriteImages({.folder = folder_ / "c", .seed = 8, .threads = 4}, set, {}).ok());
  EXPECT_EQ(Files(folder_ / "a"), Files(folder_ / "b"));
  EXPECT_NE(Files(folder_ / "a"), Files(folder_ / "c"));
  // Pictures differ from each other too, held-out ones from those trained on.
  const auto files = Files(folder_ / "a");
  EXPECT_NE(files.at("train/bars/000000.jpg"), files.at("train/bars/000010.jpg"));
  EXPECT_NE(files.at("train/bars/000000.jpg"), files.at("val/bars/000000.jpg"));
}

TEST_F(DatagenTest, FilesHaveTheirSizesInTurn) {
  auto totals = WriteFiles({.folder = folder_}, {.count = 5, .sizes = {0, 1, 300'000}}, {});
  ASSERT_TRUE(totals.ok());
  const auto files = Files(folder_);
  ASSERT_EQ(files.size(), 5u);
  EXPECT_EQ(files.at("000000.bin").size(), 0u);
  EXPECT_EQ(files.at("000002.bin").size(), 300'000u);
  EXPECT_EQ(files.at("000004.bin").size(), 1u);
  EXPECT_EQ(totals->bytes, 300'002u);
}

TEST_F(DatagenTest, AFolderThatIsAFileIsSaid) {
  std::ofstream(folder_ / "taken") << "x";
  auto totals = WriteFiles({.folder = folder_ / "taken"}, {.count = 1, .sizes = {1}}, {});
  ASSERT_FALSE(totals.ok());
  EXPECT_THAT(totals.status().message(), HasSubstr("taken"));
}

TEST_F(DatagenTest, StoppingLeavesNoHalfFile) {
  std::stop_source stop;
  auto progress = [&](std::uint64_t done, std::uint64_t) {
    if (done == 3) stop.request_stop();
  };
  auto totals = WriteFiles({.folder = folder_, .progress = progress},
                           {.count = 1000, .sizes = {1000}}, stop.get_token());
  ASSERT_FALSE(totals.ok());
  EXPECT_EQ(totals.status().code(), StatusCode::kCancelled);
  for (const auto& [name, bytes] : Files(folder_)) EXPECT_EQ(bytes.size(), 1000u) << name;
}

TEST_F(DatagenTest, BadSizesAreRefused) {
  EXPECT_FALSE(WriteImages({.folder = folder_}, {.width = 8}, {}).ok());
  EXPECT_FALSE(WriteImages({.folder = folder_}, {.quality = 0}, {}).ok());
  EXPECT_FALSE(WriteFiles({.folder = folder_}, {.count = 1}, {}).ok());
}

TEST(Shapes, EachIsDistinctAndStaysInItsBox) {
  std::map<std::string, std::size_t> seen;
  for (std::size_t shape = 0; shape < kShapes.size(); ++shape) {
    std::string drawn;
    for (int row = -20; row <= 20; ++row) {
      for (int column = -20; column <= 20; ++column) {
        const bool inside = Inside(shape, column / 16.0, row / 16.0);
        drawn += inside ? '#' : '.';
        EXPECT_FALSE(inside && (std::abs(column) > 16 || std::abs(row) > 16)) << kShapes.at(shape);
      }
    }
    EXPECT_THAT(drawn, HasSubstr("#"));
    EXPECT_TRUE(seen.emplace(drawn, shape).second) << kShapes.at(shape);
  }
}

}  // namespace
}  // namespace headrace::datagen
