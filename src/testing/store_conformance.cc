#include "testing/store_conformance.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <ostream>

namespace headrace::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

std::string Pattern(std::size_t size, unsigned seed) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>((i * 2654435761ULL + seed * 40503ULL) >> 11);
  }
  return bytes;
}

}  // namespace

void PrintTo(const BackendUnderTest& backend, std::ostream* out) { *out << backend.name; }

const std::vector<std::string>& OddKeys() {
  static const std::vector<std::string> kKeys = {"a b",
                                                 "a+b",
                                                 "a%2Bb",
                                                 "a%b",
                                                 "x&y<z>",
                                                 "q?x=1",
                                                 "h#frag",
                                                 "\"quoted\"",
                                                 "it's",
                                                 "d//a",
                                                 "/lead",
                                                 "a/./b",
                                                 "a/../b",
                                                 "..",
                                                 ".",
                                                 "trail/",
                                                 "x\x01y",
                                                 "x\ry",
                                                 "x\ny",
                                                 "m\xc3\xa4ggi",
                                                 "ma\xcc\x88ggi",
                                                 "\xe6\x97\xa5\xe6\x9c\xac",
                                                 "a=b;c,d@e:f!g$h*i(j)",
                                                 "back\\slash",
                                                 "til~de",
                                                 "{brace}[x]|^`",
                                                 " lead",
                                                 "trail ",
                                                 "d/.headrace-0",
                                                 std::string(1024, 'k')};
  return kKeys;
}

void StoreConformance::SetUp() {
  BackendUnderTest::Fixture fixture = GetParam().make();
  store_ = std::move(fixture.store);
  bucket_ = std::move(fixture.bucket);
}

void StoreConformance::TearDown() {
  if (store_ == nullptr) return;
  for (const std::string& key : ListAll({.bucket = bucket_})) {
    (void)store_->Delete({bucket_, key}).Wait({}, Soon());
  }
  (void)store_->DeleteBucket(bucket_).Wait({}, Soon());
}

std::string StoreConformance::Get(const std::string& key) {
  Result<ReadReply> reply = store_->Read({.name = {bucket_, key}}).Wait({}, Soon());
  EXPECT_TRUE(reply.ok()) << key << ": " << reply.status().ToString();
  return reply.ok() ? std::string(reply->data.view()) : "";
}

std::string StoreConformance::Put(const std::string& key, const std::string& bytes) {
  Result<WriteReply> reply =
      store_->Put({bucket_, key}, Buffer::FromString(bytes), {}).Wait({}, Soon());
  EXPECT_TRUE(reply.ok()) << key << ": " << reply.status().ToString();
  return reply.ok() ? reply->etag : "";
}

std::vector<std::string> StoreConformance::ListAll(ListRequest request) {
  std::vector<std::string> names;
  for (int pages = 0; pages < 1000; ++pages) {
    Result<s3::ListPage> page = store_->List(request).Wait({}, Soon());
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    if (!page.ok()) break;
    std::vector<std::string> of_page;
    for (const s3::ListedObject& o : page->objects) of_page.emplace_back(o.key);
    for (const std::string_view p : page->common_prefixes) of_page.emplace_back(p);
    std::sort(of_page.begin(), of_page.end());
    names.insert(names.end(), of_page.begin(), of_page.end());
    if (!page->truncated) break;
    request.token = page->next_token;
  }
  return names;
}

TEST_P(StoreConformance, WhatWasPutIsRead) {
  for (const std::size_t size : {0U, 1U, 1000U, 300'000U}) {
    const std::string bytes = Pattern(size, 1);
    const std::string etag = Put("dir/object", bytes);
    Result<ReadReply> reply = store_->Read({.name = {bucket_, "dir/object"}}).Wait({}, Soon());
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    EXPECT_EQ(reply->data.view(), bytes);
    EXPECT_EQ(reply->object_size, size);
    EXPECT_EQ(reply->etag, etag);
    Result<ObjectInfo> info = store_->Stat({bucket_, "dir/object"}).Wait({}, Soon());
    ASSERT_TRUE(info.ok()) << info.status().ToString();
    EXPECT_EQ(info->size, size);
    EXPECT_EQ(info->etag, etag);
    EXPECT_GT(info->last_modified.time_since_epoch().count(), 0);
  }
}

TEST_P(StoreConformance, RangesAreCutAtTheObjectsEnd) {
  const std::string bytes = Pattern(1000, 2);
  Put("o", bytes);
  struct Case {
    std::uint64_t offset;
    std::uint64_t length;
    std::uint64_t expected;
  };
  for (const Case& c : {Case{0, 1, 1},
                        {0, 1000, 1000},
                        {999, 1, 1},
                        {500, 10'000, 500},
                        {1000, 5, 0},
                        {5000, 5, 0}}) {
    std::vector<std::byte> into(c.length);
    Result<ReadReply> reply = store_
                                  ->Read({.name = {bucket_, "o"},
                                          .range = ReadRequest::Range{c.offset, c.length},
                                          .into = into})
                                  .Wait({}, Soon());
    ASSERT_TRUE(reply.ok()) << c.offset << ": " << reply.status().ToString();
    EXPECT_EQ(reply->received, c.expected) << c.offset;
    EXPECT_EQ(reply->object_size, 1000U);
    if (c.expected > 0) {
      EXPECT_EQ(std::string(reinterpret_cast<char*>(into.data()), c.expected),
                bytes.substr(c.offset, c.expected));
    }
  }
}

TEST_P(StoreConformance, ARangeOfAnEmptyObjectIsEmpty) {
  Put("empty", "");
  Result<ReadReply> reply =
      store_->Read({.name = {bucket_, "empty"}, .range = ReadRequest::Range{0, 100}})
          .Wait({}, Soon());
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(reply->received, 0U);
  EXPECT_EQ(reply->object_size, 0U);
}

TEST_P(StoreConformance, KeepsOnlyWhatWasAskedFor) {
  const std::string bytes = Pattern(500'000, 3);
  Put("o", bytes);
  ReadRequest request{.name = {bucket_, "o"}};
  request.keep_at_most = 1234;
  Result<ReadReply> reply = store_->Read(std::move(request)).Wait({}, Soon());
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(reply->data.view(), std::string_view(bytes).substr(0, 1234));
  EXPECT_EQ(reply->object_size, 500'000U);
}

TEST_P(StoreConformance, AnotherVersionIsRefused) {
  const std::string first = Put("o", "first");
  EXPECT_TRUE(store_->Read({.name = {bucket_, "o"}, .etag = first}).Wait({}, Soon()).ok());
  Put("o", "the second");
  EXPECT_EQ(store_->Read({.name = {bucket_, "o"}, .etag = first}).Wait({}, Soon()).status().code(),
            StatusCode::kObjectChanged);
}

TEST_P(StoreConformance, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(store_->Read({.name = {bucket_, "none"}}).Wait({}, Soon()).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(store_->Stat({bucket_, "none"}).Wait({}, Soon()).status().code(),
            StatusCode::kNotFound);
  const std::string no_bucket = bucket_ + "-none";
  EXPECT_EQ(store_->Read({.name = {no_bucket, "k"}}).Wait({}, Soon()).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(store_->List({.bucket = no_bucket}).Wait({}, Soon()).status().code(),
            StatusCode::kNotFound);
  if (GetParam().makes_buckets) return;
  EXPECT_EQ(
      store_->Put({no_bucket, "k"}, Buffer::FromString("x"), {}).Wait({}, Soon()).status().code(),
      StatusCode::kNotFound);
}

TEST_P(StoreConformance, EveryKeyIsItself) {
  std::vector<std::string> held;
  for (const std::string& key : OddKeys()) {
    if (!GetParam().holds(key)) continue;
    Put(key, "of " + key);
    held.push_back(key);
  }
  ASSERT_FALSE(held.empty());
  std::vector<std::string> listed = ListAll({.bucket = bucket_});
  std::sort(held.begin(), held.end());
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(listed, held);
  for (const std::string& key : held) EXPECT_EQ(Get(key), "of " + key);
}

TEST_P(StoreConformance, KeysItCannotHoldAreRefusedNotChanged) {
  if (store_->capabilities().any_key) GTEST_SKIP() << "holds every key";
  for (const std::string& key : OddKeys()) {
    if (GetParam().holds(key)) continue;
    Result<WriteReply> reply =
        store_->Put({bucket_, key}, Buffer::FromString("x"), {}).Wait({}, Soon());
    EXPECT_FALSE(reply.ok()) << key;
  }
  EXPECT_THAT(ListAll({.bucket = bucket_}), IsEmpty());
}

TEST_P(StoreConformance, ListsAPrefixInPages) {
  for (int i = 0; i < 25; ++i) Put("p/" + std::to_string(100 + i), "x");
  Put("q/1", "x");
  EXPECT_EQ(ListAll({.bucket = bucket_, .prefix = "p/", .max_keys = 10}).size(), 25U);
  EXPECT_THAT(ListAll({.bucket = bucket_, .prefix = "p/12"}),
              ElementsAre("p/120", "p/121", "p/122", "p/123", "p/124"));
  EXPECT_THAT(ListAll({.bucket = bucket_, .prefix = "none"}), IsEmpty());
  EXPECT_THAT(ListAll({.bucket = bucket_, .prefix = "p/", .start_after = "p/122"}),
              ElementsAre("p/123", "p/124"));
}

TEST_P(StoreConformance, RollsFoldersUp) {
  for (const char* key : {"a/1", "a/2", "b", "c/d/e", "top"}) Put(key, "x");
  EXPECT_THAT(ListAll({.bucket = bucket_, .delimited = true}), ElementsAre("a/", "b", "c/", "top"));
  EXPECT_THAT(ListAll({.bucket = bucket_, .prefix = "c/", .delimited = true}), ElementsAre("c/d/"));
  EXPECT_THAT(ListAll({.bucket = bucket_, .delimited = true, .max_keys = 1}),
              ElementsAre("a/", "b", "c/", "top"));
}

// Where services agree: not about a folder's own name without the '/', nor about names inside it.
TEST_P(StoreConformance, RolledUpListingsStartBehindAName) {
  for (const char* key : {"a/1", "b", "m/1", "x", "z/1"}) Put(key, "x");
  const auto listed_after = [&](const std::string& name) {
    return ListAll({.bucket = bucket_, .delimited = true, .start_after = name});
  };
  EXPECT_THAT(listed_after("0"), ElementsAre("a/", "b", "m/", "x", "z/"));
  EXPECT_THAT(listed_after("a/"), ElementsAre("b", "m/", "x", "z/"));
  EXPECT_THAT(listed_after("b"), ElementsAre("m/", "x", "z/"));
  EXPECT_THAT(listed_after("m/"), ElementsAre("x", "z/"));
  EXPECT_THAT(listed_after("n"), ElementsAre("x", "z/"));
  EXPECT_THAT(listed_after("z/1"), IsEmpty());
}

TEST_P(StoreConformance, ListsInBytewiseOrder) {
  if (!store_->capabilities().bytewise_order || GetParam().lists_in_other_order)
    GTEST_SKIP() << "this backend does not order bytewise";
  for (const char* key : {"d/x", "d-x", "d", "D", "e\xc3\xa4"}) {
    if (GetParam().holds(key) && std::string_view(key) != "d") Put(key, "x");
  }
  // A key a page, since ListAll gives the names of a page sorted.
  const std::vector<std::string> listed = ListAll({.bucket = bucket_, .max_keys = 1});
  EXPECT_TRUE(std::is_sorted(listed.begin(), listed.end()));
  EXPECT_EQ(listed.size(), 4U);
}

TEST_P(StoreConformance, UploadInParts) {
  const std::size_t part = std::max<std::size_t>(store_->capabilities().min_part_size, 1000);
  const std::string bytes = Pattern(2 * part + 500, 4);
  Result<Upload> upload = store_->CreateUpload({bucket_, "big"}, {}).Wait({}, Soon());
  ASSERT_TRUE(upload.ok()) << upload.status().ToString();
  EXPECT_EQ(store_->Stat({bucket_, "big"}).Wait({}, Soon()).status().code(), StatusCode::kNotFound);
  std::vector<Part> parts(3);
  for (const int i : {2, 0, 1}) {  // in any order
    const auto n = static_cast<std::size_t>(i);
    Result<Part> sent =
        store_->UploadPart(*upload, i + 1, Buffer::FromString(bytes.substr(n * part, part)))
            .Wait({}, Soon());
    ASSERT_TRUE(sent.ok()) << sent.status().ToString();
    parts[n] = *sent;
  }
  Result<WriteReply> done = store_->CompleteUpload(*upload, parts).Wait({}, Soon());
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(Get("big"), bytes);
}

TEST_P(StoreConformance, AnAbortedUploadLeavesNothing) {
  Put("o", "old");
  Result<Upload> upload = store_->CreateUpload({bucket_, "o"}, {}).Wait({}, Soon());
  ASSERT_TRUE(upload.ok()) << upload.status().ToString();
  ASSERT_TRUE(store_->UploadPart(*upload, 1, Buffer::FromString("new")).Wait({}, Soon()).ok());
  EXPECT_TRUE(store_->AbortUpload(*upload).Wait({}, Soon()).ok());
  EXPECT_EQ(Get("o"), "old");
  EXPECT_THAT(ListAll({.bucket = bucket_}), ElementsAre("o"));
}

TEST_P(StoreConformance, AnUploadShowsWhenItIsComplete) {
  Put("d/o", "x");
  Result<Upload> upload = store_->CreateUpload({bucket_, "d/new"}, {}).Wait({}, Soon());
  ASSERT_TRUE(upload.ok()) << upload.status().ToString();
  Result<Part> part = store_->UploadPart(*upload, 1, Buffer::FromString("new")).Wait({}, Soon());
  ASSERT_TRUE(part.ok()) << part.status().ToString();
  EXPECT_THAT(ListAll({.bucket = bucket_}), ElementsAre("d/o"));
  EXPECT_THAT(ListAll({.bucket = bucket_, .prefix = "d/", .delimited = true}), ElementsAre("d/o"));
  ASSERT_TRUE(store_->CompleteUpload(*upload, {*part}).Wait({}, Soon()).ok());
  EXPECT_THAT(ListAll({.bucket = bucket_}), ElementsAre("d/new", "d/o"));
}

TEST_P(StoreConformance, CreateOnlyRefusesWhatIsThere) {
  Put("o", "old");
  Result<WriteReply> reply =
      store_->Put({bucket_, "o"}, Buffer::FromString("new"), {.if_none_match = true})
          .Wait({}, Soon());
  EXPECT_EQ(reply.status().code(), StatusCode::kAlreadyExists) << reply.status().ToString();
  EXPECT_EQ(Get("o"), "old");
}

TEST_P(StoreConformance, CreateOnlyHoldsForCopiesToo) {
  ASSERT_TRUE(store_->Put({bucket_, "source"}, Buffer::FromString("new"), {.if_none_match = true})
                  .Wait({}, Soon())
                  .ok());
  Put("o", "old");
  Result<WriteReply> reply =
      store_->Copy({bucket_, "source"}, {bucket_, "o"}, {.if_none_match = true}, "")
          .Wait({}, Soon());
  if (!GetParam().ignores_create_only_copies) {
    EXPECT_EQ(reply.status().code(), StatusCode::kAlreadyExists) << reply.status().ToString();
    EXPECT_EQ(Get("o"), "old");
  }
  // How the source was made says nothing about the copy.
  reply = store_->Copy({bucket_, "source"}, {bucket_, "o"}, {}, "").Wait({}, Soon());
  EXPECT_TRUE(reply.ok()) << reply.status().ToString();
  EXPECT_EQ(Get("o"), "new");
}

TEST_P(StoreConformance, CreateOnlyHoldsForUploadsInPartsToo) {
  Put("o", "old");
  Result<Upload> upload =
      store_->CreateUpload({bucket_, "o"}, {.if_none_match = true}).Wait({}, Soon());
  ASSERT_TRUE(upload.ok()) << upload.status().ToString();
  Result<Part> part = store_->UploadPart(*upload, 1, Buffer::FromString("new")).Wait({}, Soon());
  ASSERT_TRUE(part.ok()) << part.status().ToString();
  Result<WriteReply> reply = store_->CompleteUpload(*upload, {*part}).Wait({}, Soon());
  if (GetParam().ignores_create_only_uploads) return;
  EXPECT_EQ(reply.status().code(), StatusCode::kAlreadyExists) << reply.status().ToString();
  EXPECT_EQ(Get("o"), "old");
  (void)store_->AbortUpload(*upload).Wait({}, Soon());
}

TEST_P(StoreConformance, DeletingTwiceSucceeds) {
  Put("o", "x");
  EXPECT_TRUE(store_->Delete({bucket_, "o"}).Wait({}, Soon()).ok());
  EXPECT_TRUE(store_->Delete({bucket_, "o"}).Wait({}, Soon()).ok());
  EXPECT_THAT(ListAll({.bucket = bucket_}), IsEmpty());
}

TEST_P(StoreConformance, DeletesManyAtOnce) {
  std::vector<std::string> keys;
  for (int i = 0; i < 20; ++i) {
    keys.push_back("many/a+b " + std::to_string(i));
    Put(keys.back(), "x");
  }
  Put("stays", "x");
  Result<std::vector<Status>> statuses = store_->DeleteMany(bucket_, keys).Wait({}, Soon());
  ASSERT_TRUE(statuses.ok()) << statuses.status().ToString();
  EXPECT_EQ(statuses->size(), 20U);
  for (const Status& status : *statuses) EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_THAT(ListAll({.bucket = bucket_}), ElementsAre("stays"));
}

TEST_P(StoreConformance, CopiesKeepBytesAndMetadata) {
  PutOptions options{.content_type = "image/jpeg", .metadata = {{"label", "cat"}}};
  ASSERT_TRUE(store_->Put({bucket_, "k+1 %41"}, Buffer::FromString("bytes"), options)
                  .Wait({}, Soon())
                  .ok());
  Result<WriteReply> copied =
      store_->Copy({bucket_, "k+1 %41"}, {bucket_, "copy"}, {}, "").Wait({}, Soon());
  ASSERT_TRUE(copied.ok()) << copied.status().ToString();
  EXPECT_EQ(Get("copy"), "bytes");
  if (!store_->capabilities().metadata) return;
  Result<ObjectInfo> info = store_->Stat({bucket_, "copy"}).Wait({}, Soon());
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(info->content_type, "image/jpeg");
  EXPECT_EQ(info->metadata["label"], "cat");
}

TEST_P(StoreConformance, ACopyMayBeOfOneVersionOnly) {
  Result<WriteReply> put =
      store_->Put({bucket_, "source"}, Buffer::FromString("bytes"), {}).Wait({}, Soon());
  ASSERT_TRUE(put.ok()) << put.status().ToString();
  const Result<WriteReply> same =
      store_->Copy({bucket_, "source"}, {bucket_, "same"}, {}, put->etag).Wait({}, Soon());
  EXPECT_TRUE(same.ok()) << same.status().ToString();
  if (GetParam().ignores_version_of_copies) return;
  const Result<WriteReply> other =
      store_->Copy({bucket_, "source"}, {bucket_, "other"}, {}, std::string(32, 'a'))
          .Wait({}, Soon());
  EXPECT_EQ(other.status().code(), StatusCode::kObjectChanged);
  EXPECT_EQ(store_->Stat({bucket_, "other"}).Wait({}, Soon()).status().code(),
            StatusCode::kNotFound);
}

TEST_P(StoreConformance, TagsAreKeptAndTold) {
  if (!store_->capabilities().metadata) return;
  const std::map<std::string, std::string> tags = {{"project", "a b/c=d+e"}, {"stage", ""}};
  ASSERT_TRUE(store_->Put({bucket_, "tagged"}, Buffer::FromString("x"), {.tags = tags})
                  .Wait({}, Soon())
                  .ok());
  Put("plain", "x");
  ASSERT_TRUE(store_->Copy({bucket_, "tagged"}, {bucket_, "copy"}, {}, "").Wait({}, Soon()).ok());
  EXPECT_EQ(*store_->TagsOf({bucket_, "tagged"}).Wait({}, Soon()), tags);
  EXPECT_EQ(store_->TagsOf({bucket_, "plain"}).Wait({}, Soon())->size(), 0U);
  EXPECT_EQ(*store_->TagsOf({bucket_, "copy"}).Wait({}, Soon()), tags);
}

TEST_P(StoreConformance, PartsCanBeCopied) {
  const std::size_t part = std::max<std::size_t>(store_->capabilities().min_part_size, 1000);
  const std::string bytes = Pattern(2 * part, 5);
  Put("source", bytes);
  Result<Upload> upload =
      store_->CreateUpload({bucket_, "t"}, {.checksum_algorithm = "none"}).Wait({}, Soon());
  ASSERT_TRUE(upload.ok()) << upload.status().ToString();
  std::vector<Part> parts;
  for (const int i : {0, 1}) {
    Result<Part> copied = store_
                              ->CopyPart(*upload, i + 1, {bucket_, "source"},
                                         {static_cast<std::uint64_t>(i) * part, part}, "")
                              .Wait({}, Soon());
    ASSERT_TRUE(copied.ok()) << copied.status().ToString();
    parts.push_back(*copied);
  }
  Result<WriteReply> done = store_->CompleteUpload(*upload, parts).Wait({}, Soon());
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(Get("t"), bytes);
}

TEST_P(StoreConformance, ManyReadsAtOnceAndDroppedOnes) {
  const std::string bytes = Pattern(200'000, 6);
  Put("o", bytes);
  std::vector<Pending<ReadReply>> reads;
  reads.reserve(100);
  for (int i = 0; i < 100; ++i) reads.push_back(store_->Read({.name = {bucket_, "o"}}));
  std::vector<std::byte> into(200'000);
  for (int i = 0; i < 20; ++i) {
    auto dropped = store_->Read(
        {.name = {bucket_, "o"}, .range = ReadRequest::Range{0, 200'000}, .into = into});
  }
  for (Pending<ReadReply>& read : reads) {
    Result<ReadReply> reply = read.Wait({}, Soon());
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    EXPECT_EQ(reply->data.view(), bytes);
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreConformance);

}  // namespace headrace::store
