#include "object/parallel_lister.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "store/memory_store.h"

namespace headrace::object {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CutPoints, AscendAndPartitionWhatFollows) {
  const std::vector<std::string> cuts = CutPoints("k000", "k097", "", 1);
  EXPECT_THAT(cuts, ElementsAre("k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9"));
  EXPECT_THAT(CutPoints("k000", "k007", "", 1),
              ElementsAre("k008", "k009", "k01", "k02", "k03", "k04", "k05", "k06", "k07", "k08",
                          "k09", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9"));
  EXPECT_THAT(CutPoints("k000", "k097", "k3", 1), ElementsAre("k1", "k2"));
}

TEST(CutPoints, GoThroughHexadecimalWhereTheKeysDo) {
  EXPECT_THAT(CutPoints("1a", "8b", "", 0), ElementsAre("9", "a", "b", "c", "d", "e", "f"));
}

TEST(CutPoints, NoneWhereNoCharacterIsKnownToFollow) {
  EXPECT_THAT(CutPoints("z", "z\xff", "", 0), IsEmpty());
}

class ParallelListerTest : public testing::Test {
 protected:
  void SetUp() override {
    store_ = store::MakeMemoryStore();
    ASSERT_TRUE(store_->CreateBucket("b").Wait().ok());
    context_.store = store_.get();
  }
  void Put(const std::string& key) {
    ASSERT_TRUE(store_->Put({"b", key}, Buffer(), {}).Wait().ok());
    keys_.push_back(key);
  }
  // What the lister gives equals what was put, in order. Returns the pages and questions it took.
  std::size_t ExpectAll(const std::string& prefix = "") {
    std::sort(keys_.begin(), keys_.end());
    std::vector<std::string> wanted;
    for (const std::string& key : keys_) {
      if (key.starts_with(prefix)) wanted.push_back(key);
    }
    ParallelLister lister(&context_, {.bucket = "b", .prefix = prefix, .max_keys = 10});
    std::vector<std::string> listed;
    while (true) {
      Result<std::optional<s3::ListPage>> page = lister.Next({});
      EXPECT_TRUE(page.ok()) << page.status().ToString();
      if (!page.ok() || !*page) break;
      for (const s3::ListedObject& object : (*page)->objects) listed.emplace_back(object.key);
    }
    EXPECT_EQ(listed, wanted);
    EXPECT_FALSE(lister.serial());
    return lister.requests();
  }

  std::unique_ptr<store::Store> store_;
  MemoryBudget budget_{MemoryBudget::Split(1 << 20)};
  BufferPool buffers_{1 << 20};
  SharedChunks chunks_;
  Context context_{nullptr, &budget_, &buffers_, &chunks_, {}};
  std::vector<std::string> keys_;
};

TEST_F(ParallelListerTest, Nothing) { ExpectAll(); }

TEST_F(ParallelListerTest, NumberedKeys) {
  for (int i = 0; i < 2000; ++i) Put(fmt::format("img/{:06}.jpg", i));
  ExpectAll();
  ExpectAll("img/0001");
  ExpectAll("img/none");
}

TEST_F(ParallelListerTest, RandomHexadecimalKeys) {
  Random random(3);
  for (int i = 0; i < 2000; ++i) Put(fmt::format("{:016x}", random.Next()));
  ExpectAll();
}

TEST_F(ParallelListerTest, FoldersOfUnequalSize) {
  for (int i = 0; i < 1800; ++i) Put(fmt::format("big/{}", i));
  for (int i = 0; i < 50; ++i) Put(fmt::format("f{}/x", i));
  Put("zz");
  ExpectAll();
}

// Names that nobody could guess, full pages, and folders inside folders: the folders are asked for.
TEST_F(ParallelListerTest, FoldersCostFewRequests) {
  for (const char* top : {"train", "test"}) {
    for (int i = 0; i < 60; ++i) {
      const std::string folder = fmt::format("{}/{:x}", top, 7919U * static_cast<unsigned>(i + 1));
      for (int j = 0; j < 10; ++j) Put(fmt::format("{}/{:06}.jpg", folder, j));
    }
  }
  EXPECT_LT(ExpectAll(), 120 * 3U);
}

TEST_F(ParallelListerTest, FoldersOfFewKeysAreCutByThePage) {
  for (int i = 0; i < 600; ++i) Put(fmt::format("a/{:04}/x", i * 7 % 5000));
  for (int i = 0; i < 300; ++i) {
    for (int j = 0; j < 3; ++j) Put(fmt::format("b/{:04}/{}", i, j));
  }
  EXPECT_LT(ExpectAll(), 150 * 3U);
}

TEST_F(ParallelListerTest, ASlowCallerHasFewPagesWait) {
  for (int i = 0; i < 4000; ++i) Put(fmt::format("img/{:06}.jpg", i));
  ParallelLister lister(&context_, {.bucket = "b", .max_keys = 2});
  std::size_t listed = 0;
  std::size_t most = 0;
  while (true) {
    Result<std::optional<s3::ListPage>> page = lister.Next({});
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    if (!*page) break;
    listed += (*page)->objects.size();
    most = std::max(most, lister.buffered());
  }
  EXPECT_EQ(listed, keys_.size());
  EXPECT_LE(most, 256U + 64U);
  EXPECT_GT(most, 64U);
  EXPECT_EQ(lister.buffered(), 0U);
}

TEST_F(ParallelListerTest, KeysOfAnyBytes) {
  Random random(5);
  for (int i = 0; i < 1000; ++i) {
    std::string key;
    const std::size_t length = 1 + random.Below(12);
    for (std::size_t j = 0; j < length; ++j) key += static_cast<char>(1 + random.Below(255));
    if (std::find(keys_.begin(), keys_.end(), key) == keys_.end()) Put(key);
  }
  ExpectAll();
}

// Lists as SeaweedFS does: a folder's content right behind its name, so "d/x" before "d-x".
class FolderOrderStore : public store::Store {
 public:
  explicit FolderOrderStore(std::vector<std::string> keys) : keys_(std::move(keys)) {
    auto by_folder = [](std::string a, std::string b) {
      std::replace(a.begin(), a.end(), '/', '\x01');
      std::replace(b.begin(), b.end(), '/', '\x01');
      return a < b;
    };
    std::sort(keys_.begin(), keys_.end(), by_folder);
  }
  Pending<s3::ListPage> List(const store::ListRequest& request) override {
    s3::ListPage page;
    std::size_t i = 0;
    if (!request.token.empty()) {
      i = std::stoul(request.token);
    } else if (!request.start_after.empty()) {
      while (i < keys_.size() && keys_[i] <= request.start_after) ++i;
    }
    for (; i < keys_.size() && page.objects.size() < 10; ++i) {
      page.objects.push_back({.key = page.pieced_together.emplace_back(keys_[i])});
    }
    page.truncated = i < keys_.size();
    page.next_token = std::to_string(i);
    return Pending<s3::ListPage>::Ready(std::move(page));
  }

  store::Capabilities capabilities() const override { return {}; }
  Pending<store::ReadReply> Read(store::ReadRequest) override { return {}; }
  Pending<ObjectInfo> Stat(const store::Name&) override { return {}; }
  Pending<store::WriteReply> Put(const store::Name&, Buffer, const PutOptions&) override {
    return {};
  }
  Pending<store::Upload> CreateUpload(const store::Name&, const PutOptions&) override { return {}; }
  Pending<store::Part> UploadPart(const store::Upload&, int, Buffer) override { return {}; }
  Pending<store::WriteReply> CompleteUpload(const store::Upload&,
                                            const std::vector<store::Part>&) override {
    return {};
  }
  Pending<store::Nothing> AbortUpload(const store::Upload&) override { return {}; }
  Pending<store::Nothing> Delete(const store::Name&) override { return {}; }
  Pending<std::vector<Status>> DeleteMany(const std::string&,
                                          const std::vector<std::string>&) override {
    return {};
  }
  Pending<store::WriteReply> Copy(const store::Name&, const store::Name&, const PutOptions&,
                                  const std::string&) override {
    return {};
  }
  Pending<store::Part> CopyPart(const store::Upload&, int, const store::Name&,
                                store::ReadRequest::Range, const std::string&) override {
    return {};
  }
  Pending<store::Nothing> CreateBucket(const std::string&) override { return {}; }
  Pending<store::Nothing> DeleteBucket(const std::string&) override { return {}; }
  Pending<std::vector<std::string>> ListBuckets() override { return {}; }

 private:
  std::vector<std::string> keys_;
};

// Pages without keys, whose tokens go round.
class CircularStore final : public FolderOrderStore {
 public:
  CircularStore() : FolderOrderStore({}) {}
  Pending<s3::ListPage> List(const store::ListRequest& request) override {
    s3::ListPage page;
    page.truncated = true;
    page.next_token = std::string(1, request.token == "A" ? 'B' : 'A');
    ++requests;
    if (requests > 100) {
      return Pending<s3::ListPage>::Ready(Status(StatusCode::kIo, "asked without end"));
    }
    return Pending<s3::ListPage>::Ready(std::move(page));
  }
  int requests = 0;
};

TEST_F(ParallelListerTest, PagesThatGoRoundEndTheListing) {
  CircularStore store;
  context_.store = &store;
  ParallelLister lister(&context_, {.bucket = "b"});
  const Status status = lister.Next({}).status();
  EXPECT_EQ(status.code(), StatusCode::kProtocol) << status.ToString();
  EXPECT_FALSE(lister.serial());
}

// Fails, or never answers, the first time; answers well from then on.
class OnceStore final : public FolderOrderStore {
 public:
  explicit OnceStore(bool answers) : FolderOrderStore({"a"}), answers_(answers) {}
  Pending<s3::ListPage> List(const store::ListRequest& request) override {
    if (std::exchange(asked_, true)) return FolderOrderStore::List(request);
    auto [pending, promise] = MakePending<s3::ListPage>();
    if (answers_) promise.Set(Status(StatusCode::kServerError, "once"));
    silent_ = std::move(promise);
    return std::move(pending);
  }

 private:
  const bool answers_;
  bool asked_ = false;
  Promise<s3::ListPage> silent_;
};

TEST_F(ParallelListerTest, AfterAnErrorOrAStopTheListingIsOver) {
  std::stop_source stopped;
  stopped.request_stop();
  for (const bool answers : {true, false}) {
    const std::stop_token stop = answers ? std::stop_token() : stopped.get_token();
    const StatusCode code = answers ? StatusCode::kServerError : StatusCode::kCancelled;
    OnceStore store(answers);
    context_.store = &store;
    ParallelLister parallel(&context_, {.bucket = "b"});
    EXPECT_EQ(parallel.Next(stop).status().code(), code);
    EXPECT_EQ(parallel.Next({}).status().code(), code);
    OnceStore again(answers);
    context_.store = &again;
    Lister serial(&context_, {.bucket = "b"});
    EXPECT_EQ(serial.Next(stop).status().code(), code);
    EXPECT_EQ(serial.Next({}).status().code(), code);
  }
}

// Pages may be missing from there on: the end would be taken for that of a whole listing.
TEST_F(ParallelListerTest, ASerialListingThatGoesRoundDoesNotEndLater) {
  CircularStore store;
  context_.store = &store;
  Lister lister(&context_, {.bucket = "b"});
  EXPECT_EQ(lister.Next({}).status().code(), StatusCode::kProtocol);
  EXPECT_EQ(lister.Next({}).status().code(), StatusCode::kProtocol);
}

TEST_F(ParallelListerTest, AServiceOfAnotherOrderIsListedSeriallyAndWhole) {
  std::vector<std::string> keys;
  for (int i = 0; i < 300; ++i) keys.push_back(fmt::format("a{:04}", i));
  for (int i = 0; i < 30; ++i) keys.push_back(fmt::format("d/{}", i));
  for (int i = 0; i < 30; ++i) keys.push_back(fmt::format("d-{}", i));
  FolderOrderStore store(keys);
  context_.store = &store;
  ParallelLister lister(&context_, {.bucket = "b"});
  std::vector<std::string> listed;
  while (true) {
    Result<std::optional<s3::ListPage>> page = lister.Next({});
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    if (!*page) break;
    for (const s3::ListedObject& object : (*page)->objects) listed.emplace_back(object.key);
  }
  EXPECT_TRUE(lister.serial());
  std::sort(keys.begin(), keys.end());
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(listed, keys);
}

}  // namespace
}  // namespace headrace::object
