// The backends that need no server, against the contract.
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "store/file_store.h"
#include "store/memory_store.h"
#include "store/s3_store.h"
#include "testing/store_conformance.h"

namespace headrace::store {
namespace {

BackendUnderTest::Fixture MakeMemory() {
  std::shared_ptr<Store> store = MakeMemoryStore();
  EXPECT_TRUE(store->CreateBucket("bucket").Wait().ok());
  return {std::move(store), "bucket"};
}

// A store with the folder that is its bucket: DeleteBucket does not remove one with folders in it.
struct StoreInFolder {
  ~StoreInFolder() { std::filesystem::remove_all(folder); }
  std::string folder;
  std::shared_ptr<Store> store;
};

BackendUnderTest::Fixture MakeFiles() {
  static BufferPool buffers(1 << 20);
  auto owned = std::make_shared<StoreInFolder>();
  owned->folder = std::filesystem::temp_directory_path() / "headrace-store-XXXXXX";
  EXPECT_NE(mkdtemp(owned->folder.data()), nullptr);
  owned->store = MakeFileStore(&buffers);
  return {std::shared_ptr<Store>(owned, owned->store.get()), owned->folder};
}

bool FitsAPath(std::string_view key) {
  if (key.starts_with('/') || key.ends_with('/') || key.find("//") != std::string_view::npos) {
    return false;
  }
  return !key.starts_with("d/.headrace-") && key != "." && key != ".." &&
         key.find("/./") == std::string_view::npos && key.find("/../") == std::string_view::npos &&
         key.size() <= 255;
}

class FileStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    BackendUnderTest::Fixture fixture = MakeFiles();
    store_ = fixture.store;
    folder_ = fixture.bucket;
  }

  Upload Create(const std::string& key) {
    Result<Upload> upload = store_->CreateUpload({folder_, key}, {}).Wait();
    EXPECT_TRUE(upload.ok()) << upload.status().ToString();
    return *upload;
  }
  Part AddPart(const Upload& upload, const std::string& bytes) {
    Result<Part> part = store_->UploadPart(upload, 1, Buffer::FromString(bytes)).Wait();
    EXPECT_TRUE(part.ok()) << part.status().ToString();
    return *part;
  }
  std::string Get(const std::string& key) {
    Result<ReadReply> reply = store_->Read({.name = {folder_, key}}).Wait();
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    return reply.ok() ? std::string(reply->data.view()) : "";
  }

  std::shared_ptr<Store> store_;
  std::string folder_;
};

TEST_F(FileStoreTest, AbortingAnUploadLeavesAllOthersAlone) {
  std::vector<Upload> uploads;
  std::vector<Part> parts;
  for (int i = 0; i < 20; ++i) {
    uploads.push_back(Create("o"));
    parts.push_back(AddPart(uploads.back(), fmt::format("{}", i)));
  }
  ASSERT_TRUE(store_->AbortUpload(uploads[1]).Wait().ok());
  EXPECT_FALSE(store_->CompleteUpload(uploads[1], {parts[1]}).Wait().ok());
  ASSERT_TRUE(store_->AbortUpload(uploads[1]).Wait().ok());
  for (std::size_t i = 2; i < uploads.size(); ++i) {
    Result<WriteReply> done = store_->CompleteUpload(uploads[i], {parts[i]}).Wait();
    ASSERT_TRUE(done.ok()) << i << ": " << done.status().ToString();
    EXPECT_EQ(Get("o"), fmt::format("{}", i));
  }
}

TEST_F(FileStoreTest, NamesMayBeAsLongAsTheFileSystemAllows) {
  const std::string name(255, 'n');
  Result<WriteReply> put = store_->Put({folder_, name}, Buffer::FromString("put"), {}).Wait();
  ASSERT_TRUE(put.ok()) << put.status().ToString();
  EXPECT_EQ(Get(name), "put");
  const Upload upload = Create(name);
  const Part part = AddPart(upload, "in parts");
  ASSERT_TRUE(store_->CompleteUpload(upload, {part}).Wait().ok());
  EXPECT_EQ(Get(name), "in parts");
}

// As between file systems, in old kernels and on some network file systems.
TEST_F(FileStoreTest, PartsThatTheKernelCannotCopyAreReadAndWritten) {
  const Upload upload = Create("o");
  const Part part = AddPart(upload, "replaced below");
  std::string part_path;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) part_path = entry.path();
  ASSERT_EQ(unlink(part_path.c_str()), 0);
  ASSERT_EQ(mkfifo(part_path.c_str(), 0600), 0);  // copy_file_range takes regular files alone
  const std::string bytes(3 << 20, 'x');
  std::signal(SIGPIPE, SIG_IGN);  // to fail, not to end, when nobody reads it
  std::thread writer([&] { std::ofstream(part_path, std::ios::binary) << bytes; });
  Result<WriteReply> done = store_->CompleteUpload(upload, {part}).Wait();
  writer.join();
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(Get("o"), bytes);
}

TEST_F(FileStoreTest, AListingThatFailsIsNoShortListing) {
  ASSERT_TRUE(store_->Put({folder_, "o"}, Buffer::FromString("x"), {}).Wait().ok());
  // Folders in folders, deeper than a path can say.
  const std::string name(250, 'd');
  int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  for (int depth = 0; depth < 20; ++depth) {
    ASSERT_EQ(mkdirat(folder, name.c_str(), 0777), 0);
    const int inside = openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_GE(inside, 0);
    close(folder);
    folder = inside;
  }
  const int file = openat(folder, "o", O_WRONLY | O_CREAT, 0666);
  ASSERT_GE(file, 0);
  close(file);
  close(folder);
  Result<s3::ListPage> page = store_->List({.bucket = folder_}).Wait();
  EXPECT_EQ(page.status().code(), StatusCode::kInvalidArgument) << page.status().ToString();
  page = store_->List({.bucket = folder_, .prefix = "o"}).Wait();
  EXPECT_TRUE(page.ok()) << page.status().ToString();
}

TEST_F(FileStoreTest, LinksToNothingAndInCirclesDoNotEndAListing) {
  for (const char* key : {"a", "d/o", "z"}) {
    ASSERT_TRUE(store_->Put({folder_, key}, Buffer::FromString("x"), {}).Wait().ok());
  }
  std::filesystem::create_symlink("nothing", folder_ + "/b");
  std::filesystem::create_symlink("loop", folder_ + "/loop");
  std::filesystem::create_directory_symlink("..", folder_ + "/d/up");
  Result<s3::ListPage> page = store_->List({.bucket = folder_}).Wait();
  ASSERT_TRUE(page.ok()) << page.status().ToString();
  std::vector<std::string> keys;
  for (const s3::ListedObject& object : page->objects) keys.emplace_back(object.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "d/o", "z"}));
}

TEST(DeleteStatuses, EachKeyGetsItsOwnHoweverOftenItIsNamed) {
  const std::vector<Status> statuses =
      DeleteStatuses("b", {"x", "y", "x"}, {{"x", "AccessDenied", "no"}});
  ASSERT_EQ(statuses.size(), 3U);
  EXPECT_EQ(statuses[0].code(), StatusCode::kAccessDenied);
  EXPECT_TRUE(statuses[1].ok());
  EXPECT_EQ(statuses[2].code(), StatusCode::kAccessDenied);
}

TEST(DeleteStatuses, AFailureOfAnUnknownKeyIsThatOfAllWithoutAnAnswer) {
  const std::vector<Status> statuses = DeleteStatuses(
      "b", {"x", "y", "z"}, {{"Y", "InternalError", "broken"}, {"x", "AccessDenied", "no"}});
  ASSERT_EQ(statuses.size(), 3U);
  EXPECT_EQ(statuses[0].code(), StatusCode::kAccessDenied);
  for (const std::size_t i : {1, 2}) {
    EXPECT_EQ(statuses[i].code(), StatusCode::kServerError) << statuses[i].ToString();
    EXPECT_NE(statuses[i].ToString().find("broken"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance,
                         testing::Values(BackendUnderTest{.name = "memory", .make = MakeMemory}),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Files, StoreConformance,
                         testing::Values(BackendUnderTest{
                             .name = "files", .make = MakeFiles, .holds = FitsAPath}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace headrace::store
