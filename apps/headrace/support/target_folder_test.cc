#include "support/target_folder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/local_tree.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class TargetFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "headrace-target-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    out_ = base_ / "out";
    folder_ = *TargetFolder::Open(out_.string());
  }
  void TearDown() override { fs::remove_all(base_); }

  Status Put(std::string_view relative, std::string_view text) {
    Result<NewFile> file = folder_->Create(relative);
    if (!file.ok()) return file.status();
    EXPECT_EQ(::write(file->fd(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return file->Publish(
        std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000)));
  }
  static std::string Read(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> Everything() {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(base_)) {
      found.push_back(entry.path().lexically_relative(base_).string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  fs::path base_;
  fs::path out_;
  std::unique_ptr<TargetFolder> folder_;
};

TEST_F(TargetFolderTest, FilesAppearWholeWithTheirTime) {
  ASSERT_TRUE(Put("a/b/x", "hello").ok());
  EXPECT_EQ(Read(out_ / "a/b/x"), "hello");
  struct stat info {};
  ASSERT_EQ(::stat((out_ / "a/b/x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mtime, 1'700'000'000);
  ASSERT_TRUE(Put("a/b/x", "again").ok());
  EXPECT_EQ(Read(out_ / "a/b/x"), "again");
  EXPECT_THAT(Everything(), ElementsAre("out", "out/a", "out/a/b", "out/a/b/x"));
}

TEST_F(TargetFolderTest, UnpublishedFilesLeaveNothing) {
  { Result<NewFile> file = folder_->Create("x"); }
  EXPECT_THAT(Everything(), ElementsAre("out"));
}

TEST_F(TargetFolderTest, AFileKeepsThePermissionsOfTheOneItReplaces) {
  const mode_t umask_before = ::umask(022);
  ASSERT_TRUE(Put("x", "old").ok());
  for (const mode_t mode : {0600, 0666, 0400, 0755}) {
    ASSERT_EQ(::chmod((out_ / "x").c_str(), mode), 0);
    Result<NewFile> file = folder_->Create("x");
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    struct stat info {};
    ASSERT_EQ(::fstat(file->fd(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, mode) << "before any byte is written";
    ASSERT_TRUE(file->Publish({}).ok());
    ASSERT_EQ(::stat((out_ / "x").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, mode);
  }
  ::umask(umask_before);
}

TEST_F(TargetFolderTest, WhatIsToBeKeptIsKept) {
  folder_.reset();  // which removes "out"
  folder_ = *TargetFolder::Open(out_.string(), Existing::kKeep);
  {
    Result<NewFile> late = folder_->Create("a/x");
    ASSERT_TRUE(late.ok());
    ASSERT_TRUE(Put("a/x", "first").ok());
    const Status status = late->Publish({});
    EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
    EXPECT_EQ(status.message(), "'x' exists already");
  }
  EXPECT_EQ(folder_->Create("a/x").status().code(), StatusCode::kAlreadyExists)
      << "before anything is fetched";
  fs::create_symlink("nowhere", out_ / "link");
  EXPECT_EQ(Put("link", "x").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Read(out_ / "a/x"), "first");
  EXPECT_THAT(Everything(), ElementsAre("out", "out/a", "out/a/x", "out/link"));
}

TEST_F(TargetFolderTest, FoldersMadeForNothingAreRemoved) {
  fs::create_directory(out_ / "was there");
  folder_ = *TargetFolder::Open((out_ / "new/root/").string());
  (void)folder_->Create("a/b/x");
  folder_.reset();
  EXPECT_THAT(Everything(), ElementsAre("out", "out/was there"));
  folder_ = *TargetFolder::Open(out_.string());
  (void)folder_->Create("a/b/x");
  (void)folder_->Create("was there/c/x");
  ASSERT_TRUE(Put("a/y", "x").ok());
  folder_.reset();
  EXPECT_THAT(Everything(), ElementsAre("out", "out/a", "out/a/y", "out/was there"));
}

// REPORTS cli-5 and cli-6.
TEST_F(TargetFolderTest, NothingGetsOutOfIt) {
  for (const char* relative :
       {"../escape", "..", "a/../b", "a/..", "/abs", "a//b", "a/", ".", "a/./b", ""}) {
    const Status status = Put(relative, "x");
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << relative;
  }
  EXPECT_EQ(Put(std::string_view("a\0b", 3), "x").code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Put("ok..txt", "x").ok());
  EXPECT_TRUE(Put("..ok", "x").ok());
  EXPECT_THAT(Everything(), ElementsAre("out", "out/..ok", "out/ok..txt"));
}

TEST_F(TargetFolderTest, LinksAreNotFollowed) {
  fs::create_directory(base_ / "elsewhere");
  fs::create_directory_symlink(base_ / "elsewhere", out_ / "link");
  const Status status = Put("link/x", "x");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("symbolic link"));
  // A link in the file's own place is replaced, not written through.
  std::ofstream(base_ / "elsewhere/target") << "kept";
  fs::create_symlink(base_ / "elsewhere/target", out_ / "file");
  EXPECT_TRUE(Put("file", "new").ok());
  EXPECT_EQ(Read(base_ / "elsewhere/target"), "kept");
  EXPECT_EQ(Read(out_ / "file"), "new");
  EXPECT_FALSE(fs::is_symlink(out_ / "file"));
}

TEST_F(TargetFolderTest, AFileAndAFolderOfOneNameClash) {
  ASSERT_TRUE(Put("a", "file").ok());
  EXPECT_EQ(Put("a/b", "x").code(), StatusCode::kAlreadyExists);
  ASSERT_TRUE(Put("c/d", "x").ok());
  const Status status = Put("c", "x");
  EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(status.message(), HasSubstr("a folder stands where 'c' should"));
  EXPECT_EQ(Read(out_ / "a"), "file");
  EXPECT_THAT(Everything(), ElementsAre("out", "out/a", "out/c", "out/c/d"));
}

TEST_F(TargetFolderTest, LongNamesAreErrors) {
  EXPECT_FALSE(Put(std::string(300, 'x'), "x").ok());
  EXPECT_FALSE(Put(std::string(300, 'x') + "/y", "x").ok());
  EXPECT_THAT(Everything(), ElementsAre("out"));
}

TEST_F(TargetFolderTest, AFolderThatIsAFileSaysSo) {
  std::ofstream(base_ / "f") << "x";
  EXPECT_EQ(TargetFolder::Open((base_ / "f").string()).status().code(), StatusCode::kAlreadyExists);
  EXPECT_FALSE(TargetFolder::Open((base_ / "f/below").string()).ok());
}

TEST_F(TargetFolderTest, WalkTreeFindsFilesInOrderAndTellsWhatItCannotRead) {
  std::ofstream(out_ / "b") << "12345";
  fs::create_directory(out_ / "a");
  std::ofstream(out_ / "a" / "x") << "1";
  fs::create_directory_symlink(out_, out_ / "a" / "circle");
  fs::create_symlink("nowhere", out_ / "broken");
  fs::create_symlink("b", out_ / "link");
  ASSERT_EQ(::mkfifo((out_ / "pipe").c_str(), 0600), 0);
  std::vector<std::string> found;
  std::vector<std::string> failed;
  auto walk = [&](bool follow) {
    found.clear();
    failed.clear();
    WalkTree(
        out_.string() + "/", {.follow_links = follow}, {},
        [&](LocalFile file) {
          found.push_back(file.relative + ":" + std::to_string(file.size));
          return true;
        },
        [&](const std::string& path, Status) { failed.push_back(fs::path(path).filename()); });
  };
  walk(true);
  EXPECT_THAT(found, ElementsAre("a/x:1", "b:5", "link:5"));
  EXPECT_THAT(failed, ElementsAre("circle", "broken", "pipe"));
  walk(false);
  EXPECT_THAT(found, ElementsAre("a/x:1", "b:5"));
  EXPECT_THAT(failed, ElementsAre("pipe"));
}

}  // namespace
}  // namespace headrace::cli
