#include "devserver/store.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace headrace::devserver {
namespace {

namespace fs = std::filesystem;

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    std::string pattern = (fs::temp_directory_path() / "headrace-store-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
    store_ = Open();
  }
  ~StoreTest() override {
    store_.reset();
    fs::remove_all(dir_);
  }

  std::unique_ptr<Store> Open() {
    auto store = Store::Open({.dir = dir_});
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return store.ok() ? std::move(*store) : nullptr;
  }
  void Restart() {
    store_.reset();
    store_ = Open();
  }

  ObjectMeta Make(std::string_view bytes) {
    auto file = store_->NewFile();
    EXPECT_TRUE(file.ok());
    EXPECT_TRUE((*file)->Write(bytes).ok());
    ObjectMeta meta;
    meta.etag = "etag of " + std::string(bytes.substr(0, 8));
    meta.size = bytes.size();
    meta.modified_ms = 1234;
    meta.segments = {{(*file)->Finish(), 0, bytes.size()}};
    return meta;
  }
  void Put(const std::string& key, std::string_view bytes) {
    Status put = store_->Put("bucket", key, Make(bytes), {});
    EXPECT_TRUE(put.ok()) << put.ToString();
  }
  // The object's bytes, or the error's code.
  std::string Get(const std::string& key) {
    auto meta = store_->Find("bucket", key);
    if (!meta.ok()) return meta.status().info().s3_code;
    return Read(**meta, 0, (*meta)->size);
  }
  std::string Read(const ObjectMeta& meta, std::uint64_t offset, std::uint64_t size) {
    auto slices = store_->Slices(meta, offset, size);
    EXPECT_TRUE(slices.ok()) << slices.status().ToString();
    std::string out;
    for (const FileSlice& slice : *slices) {
      std::string piece(slice.size, '\0');
      EXPECT_EQ(
          pread(slice.file->fd(), piece.data(), piece.size(), static_cast<off_t>(slice.offset)),
          static_cast<ssize_t>(piece.size()));
      out += piece;
    }
    return out;
  }
  std::size_t DataFiles() const {
    std::size_t n = 0;
    for (const auto& entry : fs::recursive_directory_iterator(dir_ + "/data")) {
      n += entry.is_regular_file() ? 1 : 0;
    }
    return n;
  }
  std::string Journal() const { return dir_ + "/journal"; }

  std::string dir_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, KeepsEverythingOverARestart) {
  ASSERT_TRUE(store_->CreateBucket("bucket").ok());
  const std::string odd = std::string("a\x01/../%\"\\\n") + "\xC3\xBC";
  Put(odd, "odd");
  ObjectMeta meta = Make("dressed");
  meta.headers = {{"content-type", "x/y"}, {"x-amz-meta-a", "latin \xFC"}};
  meta.tags = "a=1";
  meta.storage_class = "STANDARD_IA";
  meta.checksum = Checksum{ChecksumAlgorithm::kSha1, "abc=", false};
  ASSERT_TRUE(store_->Put("bucket", "dressed", meta, {}).ok());
  Put("gone", "gone");
  ASSERT_TRUE(store_->Delete("bucket", "gone").ok());
  meta = ObjectMeta();
  Restart();
  EXPECT_EQ(Get(odd), "odd");
  EXPECT_EQ(Get("gone"), "NoSuchKey");
  auto found = store_->Find("bucket", "dressed");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)->headers[1].second, "latin \xFC");
  EXPECT_EQ((*found)->tags, "a=1");
  EXPECT_EQ((*found)->storage_class, "STANDARD_IA");
  EXPECT_EQ((*found)->checksum->value, "abc=");
  EXPECT_EQ((*found)->modified_ms, 1234);
  EXPECT_EQ(DataFiles(), 2U);
}

TEST_F(StoreTest, WhatACrashCutOffIsGoneAndNothingElse) {
  ASSERT_TRUE(store_->CreateBucket("bucket").ok());
  Put("whole", "whole");
  store_.reset();
  // A process that dies in the middle of an upload leaves a file that no record names…
  std::ofstream(dir_ + "/data/00000000/00000000000000ff") << "half an obj";
  // …and one that dies in the middle of a record leaves half a line.
  std::ofstream(Journal(), std::ios::app) << R"({"op":"put","b":"bucket","k":"to)";
  const auto torn = fs::file_size(Journal());
  ASSERT_EQ(DataFiles(), 2U);
  store_ = Open();
  ASSERT_NE(store_, nullptr);
  EXPECT_EQ(Get("whole"), "whole");
  EXPECT_EQ(DataFiles(), 1U);
  EXPECT_LT(fs::file_size(Journal()), torn);
  Put("after", "after");
  Restart();
  EXPECT_EQ(Get("after"), "after");
}

TEST_F(StoreTest, ADamagedJournalIsReportedWithItsPlace) {
  ASSERT_TRUE(store_->CreateBucket("bucket").ok());
  store_.reset();
  std::ofstream(Journal(), std::ios::app) << "garbage\n";
  auto store = Store::Open({.dir = dir_});
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.status().message().find("record 1"), std::string::npos);
}

TEST_F(StoreTest, AReaderOfAReplacedObjectKeepsItsBytes) {
  ASSERT_TRUE(store_->CreateBucket("bucket").ok());
  Put("k", "old");
  auto old = store_->Find("bucket", "k");
  Put("k", "new");
  EXPECT_EQ(Read(**old, 0, 3), "old");
  EXPECT_EQ(Get("k"), "new");
  EXPECT_EQ(DataFiles(), 2U);
  old = Status(StatusCode::kNotFound, "dropped");
  EXPECT_EQ(DataFiles(), 1U);
}

TEST_F(StoreTest, ACopySharesItsSourcesFiles) {
  ASSERT_TRUE(store_->CreateBucket("bucket").ok());
  Put("k", "shared");
  ASSERT_TRUE(store_->Put("bucket", "copy", **store_->Find("bucket", "k"), {}).ok());
  EXPECT_EQ(DataFiles(), 1U);
  ASSERT_TRUE(store_->Delete("bucket", "k").ok());
  EXPECT_EQ(Get("copy"), "shared");
  Restart();
  EXPECT_EQ(Get("copy"), "shared");
  ASSERT_TRUE(store_->Delete("bucket", "copy").ok());
  EXPECT_EQ(DataFiles(), 0U);
}

TEST_F(StoreTest, UploadsSurviveARestartAndTheirPartsBecomeTheObject) {
  ASSERT_TRUE(store_->CreateBucket("bucket").ok());
  Upload upload;
  upload.id = "id";
  upload.bucket = "bucket";
  upload.key = "k";
  ASSERT_TRUE(store_->StartUpload(upload).ok());
  for (int number : {1, 2}) {
    ObjectMeta bytes = Make(number == 1 ? "first|" : "second");
    Part part;
    part.size = bytes.size;
    part.segments = bytes.segments;
    ASSERT_TRUE(store_->PutPart("id", number, part).ok());
  }
  Restart();
  auto found = store_->FindUpload("bucket", "k", "id");
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->parts.size(), 2U);
  ObjectMeta meta;
  meta.size = 12;
  for (const auto& [number, part] : found->parts) {
    meta.segments.insert(meta.segments.end(), part.segments.begin(), part.segments.end());
  }
  ASSERT_TRUE(store_->CompleteUpload("id", meta, {}).ok());
  meta = ObjectMeta();
  found = Status(StatusCode::kNotFound, "dropped");
  EXPECT_EQ(Get("k"), "first|second");
  EXPECT_EQ(Read(**store_->Find("bucket", "k"), 4, 4), "t|se") << "across two files";
  EXPECT_NE(store_->FindCompleted("id"), nullptr);
  EXPECT_FALSE(store_->CompleteUpload("id", {}, {}).ok());
  Restart();
  EXPECT_EQ(Get("k"), "first|second");
  EXPECT_NE(store_->FindCompleted("id"), nullptr);
  EXPECT_TRUE(store_->ListUploads("bucket", "").empty());
}

TEST_F(StoreTest, AnAbortedUploadLeavesNoFile) {
  ASSERT_TRUE(store_->CreateBucket("bucket").ok());
  Upload upload;
  upload.id = "id";
  upload.bucket = "bucket";
  ASSERT_TRUE(store_->StartUpload(upload).ok());
  {
    Part part;
    part.segments = Make("part").segments;
    ASSERT_TRUE(store_->PutPart("id", 1, part).ok());
  }
  EXPECT_EQ(DataFiles(), 1U);
  ASSERT_TRUE(store_->AbortUpload("id").ok());
  EXPECT_EQ(DataFiles(), 0U);
}

TEST_F(StoreTest, ConditionsGuardWrites) {
  ASSERT_TRUE(store_->CreateBucket("bucket").ok());
  EXPECT_EQ(store_->Put("bucket", "k", Make("1"), {.if_match = "x"}).info().s3_code, "NoSuchKey");
  EXPECT_TRUE(store_->Put("bucket", "k", Make("1"), {.if_absent = true}).ok());
  EXPECT_EQ(store_->Put("bucket", "k", Make("2"), {.if_absent = true}).info().s3_code,
            "PreconditionFailed");
  EXPECT_EQ(store_->Put("bucket", "k", Make("2"), {.if_match = "x"}).info().s3_code,
            "PreconditionFailed");
  EXPECT_TRUE(store_->Put("bucket", "k", Make("3"), {.if_match = "etag of 1"}).ok());
  EXPECT_EQ(Get("k"), "3");
  EXPECT_EQ(DataFiles(), 1U) << "refused writes leave no file";
}

TEST_F(StoreTest, TheJournalShrinksWhenMostOfItIsHistory) {
  ASSERT_TRUE(store_->CreateBucket("bucket").ok());
  for (int i = 0; i < 1200; ++i) Put("same key", std::to_string(i));
  const auto before = fs::file_size(Journal());
  Restart();
  EXPECT_LT(fs::file_size(Journal()), before / 100);
  EXPECT_EQ(Get("same key"), "1199");
  Restart();
  EXPECT_EQ(Get("same key"), "1199");
}

TEST_F(StoreTest, AFolderBelongsToOneServer) {
  auto second = Store::Open({.dir = dir_});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("in use"), std::string::npos);
  fs::create_directory(dir_ + "/home");
  std::ofstream(dir_ + "/home/photo.jpg") << "x";
  auto foreign = Store::Open({.dir = dir_ + "/home"});
  ASSERT_FALSE(foreign.ok());
  EXPECT_NE(foreign.status().message().find("photo.jpg"), std::string::npos);
  EXPECT_TRUE(fs::exists(dir_ + "/home/photo.jpg"));
}

}  // namespace
}  // namespace headrace::devserver
