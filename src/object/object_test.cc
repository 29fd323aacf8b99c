// Reading and writing objects over a store in memory that counts what is asked of it.
#include <atomic>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "base/random.h"
#include "object/copy.h"
#include "object/delete_keys.h"
#include "object/download.h"
#include "object/fetch.h"
#include "object/get_many.h"
#include "object/reader.h"
#include "object/writer.h"
#include "store/memory_store.h"

namespace headrace::object {
namespace {

constexpr std::size_t kPart = 1000;

std::string Pattern(std::size_t size, unsigned seed = 1) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>((i * 2654435761U + std::size_t{seed} * 97U) >> 11);
  }
  return bytes;
}

// Passes everything on to another store and remembers the reads and writes.
class CountingStore final : public store::Store {
 public:
  store::Capabilities capabilities() const override {
    store::Capabilities capabilities = inner_->capabilities();
    capabilities.max_parts = max_parts;
    return capabilities;
  }
  Pending<store::ReadReply> Read(store::ReadRequest request) override {
    ++reads;
    whole_reads += request.range ? 0 : 1;
    const bool whole = !request.range;
    if (stall && !request.into.empty()) return Stalled();
    Pending<store::ReadReply> reply = inner_->Read(std::move(request));
    return Map<store::ReadReply>(std::move(reply), [this, whole](Result<store::ReadReply> r) {
      if (!r.ok()) return r;
      bytes_read += r->received;
      if (whole && r->received < r->object_size) r->object_size += std::exchange(lie, 0);
      return r;
    });
  }
  Pending<ObjectInfo> Stat(const store::Name& name) override {
    ++stats;
    return inner_->Stat(name);
  }
  Pending<std::map<std::string, std::string>> TagsOf(const store::Name& name) override {
    return inner_->TagsOf(name);
  }
  Pending<s3::ListPage> List(const store::ListRequest& request) override {
    return inner_->List(request);
  }
  Pending<store::WriteReply> Put(const store::Name& name, Buffer data,
                                 const PutOptions& options) override {
    ++puts;
    return inner_->Put(name, std::move(data), options);
  }
  Pending<store::Upload> CreateUpload(const store::Name& name, const PutOptions& options) override {
    ++open_uploads;
    return inner_->CreateUpload(name, options);
  }
  Pending<store::Part> UploadPart(const store::Upload& upload, int number, Buffer data) override {
    part_sizes.push_back(data.size());
    if (fail_part == number) {
      return Pending<store::Part>::Ready(Status(StatusCode::kServerError, "part refused"));
    }
    return inner_->UploadPart(upload, number, std::move(data));
  }
  Pending<store::WriteReply> CompleteUpload(const store::Upload& upload,
                                            const std::vector<store::Part>& parts) override {
    return Map<store::WriteReply>(inner_->CompleteUpload(upload, parts),
                                  [this](Result<store::WriteReply> r) {
                                    if (r.ok()) --open_uploads;
                                    return r;
                                  });
  }
  Pending<store::Nothing> AbortUpload(const store::Upload& upload) override {
    --open_uploads;
    return inner_->AbortUpload(upload);
  }
  Pending<store::Nothing> Delete(const store::Name& name) override { return inner_->Delete(name); }
  Pending<std::vector<Status>> DeleteMany(const std::string& bucket,
                                          const std::vector<std::string>& keys) override {
    return inner_->DeleteMany(bucket, keys);
  }
  Pending<store::WriteReply> Copy(const store::Name& source, const store::Name& target,
                                  const PutOptions& options,
                                  const std::string& source_etag) override {
    return inner_->Copy(source, target, options, source_etag);
  }
  Pending<store::Part> CopyPart(const store::Upload& upload, int number, const store::Name& source,
                                store::ReadRequest::Range range, const std::string& etag) override {
    return inner_->CopyPart(upload, number, source, range, etag);
  }
  Pending<store::Nothing> CreateBucket(const std::string& bucket) override {
    return inner_->CreateBucket(bucket);
  }
  Pending<store::Nothing> DeleteBucket(const std::string& bucket) override {
    return inner_->DeleteBucket(bucket);
  }
  Pending<std::vector<std::string>> ListBuckets() override { return inner_->ListBuckets(); }

  std::atomic<int> reads = 0;
  std::atomic<int> whole_reads = 0;
  std::atomic<std::uint64_t> bytes_read = 0;
  // When set: reads into the caller's memory never end, and their cancelling calls this.
  std::function<void()> stall;
  int lie = 0;  // added once to the size that is told with a whole answer that was not read whole
  int stats = 0;
  int puts = 0;
  int open_uploads = 0;
  std::vector<std::size_t> part_sizes;
  int fail_part = 0;
  int max_parts = 10'000;

 private:
  Pending<store::ReadReply> Stalled() {
    auto [pending, promise] = MakePending<store::ReadReply>();
    auto held = std::make_shared<Promise<store::ReadReply>>(std::move(promise));
    held->WritesToCaller();
    held->OnCancel([this, held] {
      stall();
      held->Set(Status(StatusCode::kCancelled, "dropped"));
    });
    return std::move(pending);
  }

  std::unique_ptr<store::Store> inner_ = store::MakeMemoryStore();
};

class ObjectTest : public testing::Test {
 protected:
  ObjectTest() { EXPECT_TRUE(store_.CreateBucket("b").Wait().ok()); }
  ~ObjectTest() override {
    for (const Share share : {Share::kReads, Share::kLookAhead, Share::kUploads}) {
      EXPECT_EQ(budget_.in_use(share), 0U) << ShareName(share);
    }
    EXPECT_EQ(store_.open_uploads, 0);
  }
  void Put(const std::string& key, const std::string& bytes) {
    ASSERT_TRUE(store_.Put({"b", key}, Buffer::FromString(bytes), {}).Wait().ok());
  }
  std::string Stored(const std::string& key) {
    Result<store::ReadReply> reply = store_.Read({.name = {"b", key}}).Wait();
    return reply.ok() ? std::string(reply->data.view()) : "<" + reply.status().ToString() + ">";
  }
  Result<Fetched> Fetch(const std::string& key, GetOptions options = {}) {
    return FetchNow(context_, {{"b", key}, std::move(options)}, {});
  }

  CountingStore store_;
  MemoryBudget budget_{{std::size_t{64} << 10, std::size_t{64} << 10, std::size_t{16} << 10, 0, 0}};
  BufferPool buffers_{std::size_t{1} << 20};
  SharedChunks chunks_;
  Context context_{&store_,
                   &budget_,
                   &buffers_,
                   &chunks_,
                   {.part_size = kPart, .multipart_threshold = 2 * kPart}};
};

TEST_F(ObjectTest, FetchesAnySizeKnownOrNot) {
  for (const std::size_t size : {0UL, 1UL, kPart - 1, kPart, kPart + 1, 7 * kPart + 3}) {
    const std::string bytes = Pattern(size);
    Put("o", bytes);
    for (const bool known : {true, false}) {
      store_.reads = 0;
      store_.stats = 0;
      GetOptions options;
      if (known) options.size = size;
      Result<Fetched> fetched = Fetch("o", options);
      ASSERT_TRUE(fetched.ok()) << fetched.status().ToString();
      EXPECT_EQ(fetched->data.view(), bytes);
      EXPECT_EQ(fetched->object_size, size);
      EXPECT_EQ(store_.stats, 0);
      if (size <= kPart) {
        EXPECT_EQ(store_.reads, 1) << size;
      }
    }
  }
}

TEST_F(ObjectTest, FetchesRanges) {
  const std::string bytes = Pattern(5 * kPart);
  Put("o", bytes);
  struct Case {
    std::uint64_t offset;
    std::uint64_t length;
  };
  for (const Case& c : {Case{0, 10},
                        {10, 3 * kPart},
                        {4999, 1},
                        {4999, 500},
                        {5000, 10},
                        {9000, 10},
                        {100, UINT64_MAX},
                        {100, std::uint64_t{1} << 50},
                        {4000, std::uint64_t{1} << 50},
                        {0, 0}}) {
    for (const bool known : {true, false}) {
      GetOptions options;
      options.range = ByteRange{c.offset, c.length};
      if (known) options.size = bytes.size();
      Result<Fetched> fetched = Fetch("o", options);
      ASSERT_TRUE(fetched.ok()) << c.offset << "+" << c.length << ": "
                                << fetched.status().ToString();
      const std::string expected =
          c.offset >= bytes.size()
              ? ""
              : bytes.substr(c.offset, std::min<std::uint64_t>(c.length, 1 << 20));
      EXPECT_EQ(fetched->data.view(), expected)
          << c.offset << "+" << c.length << (known ? " known" : "");
    }
  }
}

TEST_F(ObjectTest, AListedSizeThatIsNoLongerTrueIsSaid) {
  Put("o", Pattern(10));
  GetOptions options;
  options.size = 20;
  EXPECT_EQ(Fetch("o", options).status().code(), StatusCode::kObjectChanged);
}

// A Content-Length that is wrong, of an answer that is not read to its end.
TEST_F(ObjectTest, AWrongLengthIsNotAnotherVersion) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  for (const std::size_t size : {3 * kPart + 500, 4 * kPart - 2, 4 * kPart + 1}) {
    const std::string bytes = Pattern(size);
    Put("o", bytes);
    for (const int lie : {5, -2}) {
      store_.lie = lie;
      Result<Fetched> fetched = Fetch("o");
      ASSERT_TRUE(fetched.ok()) << fetched.status().ToString();
      EXPECT_EQ(fetched->data.view(), bytes);
      EXPECT_EQ(fetched->object_size, size);

      store_.lie = lie;
      GetMany batch(&context_, {{{"b", "o"}, {}}, {{"b", "o"}, {}}}, {});
      for (int i = 0; i < 2; ++i) EXPECT_EQ(batch.Next({})->result->data.view(), bytes);

      store_.lie = lie;
      const Result<ObjectInfo> info = DownloadFile(context_, {"b", "o"}, fileno(file), {}, {}, {});
      ASSERT_TRUE(info.ok()) << info.status().ToString();
      EXPECT_EQ(info->size, size);
      std::string out(size + 10, '\0');
      EXPECT_EQ(pread(fileno(file), out.data(), out.size(), 0), static_cast<ssize_t>(size));
      EXPECT_EQ(out.substr(0, size), bytes);
      ASSERT_EQ(ftruncate(fileno(file), 0), 0);
    }
  }
  std::fclose(file);
}

TEST_F(ObjectTest, GetManyGivesEachItemItsOwnResultInOrder) {
  std::vector<FetchItem> items;
  for (int i = 0; i < 50; ++i) {
    const std::string key = fmt::format("k{}", i);
    if (i != 7) Put(key, Pattern(static_cast<std::size_t>(i) * 100, static_cast<unsigned>(i)));
    items.push_back({{"b", key}, {}});
  }
  GetMany batch(&context_, items, {});
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::optional<GetMany::Item> item = batch.Next({});
    ASSERT_TRUE(item.has_value());
    EXPECT_EQ(item->index, i);
    if (i == 7) {
      EXPECT_EQ(item->result.status().code(), StatusCode::kNotFound);
    } else {
      ASSERT_TRUE(item->result.ok());
      EXPECT_EQ(item->result->data.view(), Pattern(i * 100, static_cast<unsigned>(i)));
    }
  }
  EXPECT_FALSE(batch.Next({}).has_value());
}

// Objects of unknown size turn out longer than a part: the rest, too, comes out of the budget.
TEST_F(ObjectTest, ManyLargeObjectsOfUnknownSizeStayInsideTheBudget) {
  std::vector<FetchItem> items;
  for (unsigned i = 0; i < 40; ++i) {
    const std::string key = fmt::format("k{}", i);
    Put(key, Pattern(std::size_t{i % 3} * 10 * kPart, i));
    items.push_back({{"b", key}, {}});
  }
  for (const bool ordered : {true, false}) {
    GetMany batch(&context_, items, {.ordered = ordered});
    std::set<std::size_t> seen;
    while (std::optional<GetMany::Item> item = batch.Next({})) {
      ASSERT_TRUE(item->result.ok()) << item->result.status().ToString();
      EXPECT_EQ(item->result->data.view(),
                Pattern((item->index % 3) * 10 * kPart, static_cast<unsigned>(item->index)));
      seen.insert(item->index);
    }
    EXPECT_EQ(seen.size(), items.size());
    EXPECT_LE(budget_.peak(Share::kReads), budget_.limit(Share::kReads));
  }
}

// One thread that reads while a batch of its own, not taken yet, holds all the memory it can get.
TEST_F(ObjectTest, OperationsOfOneThreadNeverWaitForEachOther) {
  Put("o", Pattern(15 * kPart));
  const std::vector<FetchItem> items(30, {{"b", "o"}, {.range = std::nullopt, .size = 15 * kPart}});
  GetMany one(&context_, items, {});
  GetMany two(&context_, items, {});
  std::deque<Reader> readers;
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(one.Next({})->result.ok());
    ASSERT_TRUE(two.Next({})->result.ok());
    Reader& reader = readers.emplace_back(&context_, store::Name{"b", "o"}, ReaderOptions{});
    std::string out(5 * kPart, '\0');
    ASSERT_EQ(*reader.ReadAt(7, std::as_writable_bytes(std::span(out)), {}), out.size());
    EXPECT_EQ(out, Pattern(15 * kPart).substr(7, out.size()));
    if (i % 10 == 0) {
      EXPECT_TRUE(Fetch("o").ok());
    }
  }
}

// A lease that is kept for the rest of an object is under way again: nobody may pass it.
TEST_F(ObjectTest, AFetchThatGoesOnKeepsItsMemory) {
  Put("o", Pattern(5 * kPart));
  store_.stall = [] {};
  class Fetch fetch(&context_, {{"b", "o"}, {}}, 10 * kPart);
  CompletionQueue<std::size_t> done;
  fetch.Start(std::move(*budget_.TryAcquire(Share::kReads, 10 * kPart)), &done, 0);
  ASSERT_TRUE(done.Next().has_value());
  ASSERT_EQ(fetch.Advance(), Fetch::Step::kUnderWay);
  EXPECT_EQ(budget_
                .Acquire(Share::kReads, budget_.limit(Share::kReads), {},
                         Deadline::After(std::chrono::milliseconds(1)))
                .status()
                .code(),
            StatusCode::kTimeout);
}

// One thread with more open writers than the budget has room for: each waits for what the thread
// itself has yet to bring.
TEST_F(ObjectTest, OpenWritersOfOneThreadNeverWaitForEachOther) {
  std::deque<Writer> writers;
  const std::string bytes = Pattern(2 * kPart);
  for (int i = 0; i < 30; ++i) {
    Writer& writer =
        writers.emplace_back(&context_, store::Name{"b", fmt::format("w{}", i)}, PutOptions{});
    // Past one part, so that the first buffers grow.
    ASSERT_TRUE(writer.Write(std::as_bytes(std::span(bytes)).first(kPart + 1), {}).ok());
  }
  for (Writer& writer : writers) {
    ASSERT_TRUE(writer.Write(std::as_bytes(std::span(bytes)).subspan(kPart + 1), {}).ok());
    ASSERT_TRUE(writer.Close({}).ok());
  }
  EXPECT_EQ(Fetch("w29")->data.view(), bytes);
  EXPECT_EQ(budget_.in_use(Share::kUploads), 0U);
}

// Larger than the whole share, between others: it waits until it is alone.
TEST_F(ObjectTest, AnObjectLargerThanTheBudgetIsFetchedAlone) {
  std::vector<FetchItem> items;
  for (unsigned i = 0; i < 10; ++i) {
    const std::string key = fmt::format("k{}", i);
    Put(key, Pattern(i % 4 == 1 ? 100 * kPart : 15 * kPart, i));
    items.push_back({{"b", key}, {}});
  }
  for (const bool ordered : {true, false}) {
    GetMany batch(&context_, items, {.ordered = ordered});
    std::size_t bytes = 0;
    while (std::optional<GetMany::Item> item = batch.Next({})) bytes += item->result->data.size();
    EXPECT_EQ(bytes, 300 * kPart + 105 * kPart);
  }
  EXPECT_EQ(Fetch("k1")->data.size(), 100 * kPart);
}

// What is planned for objects of unknown size forgets the one that was large.
TEST_F(ObjectTest, OneLargeObjectDoesNotKeepTheSmallOnesFromBeingManyAtOnce) {
  Put("large", Pattern(60 * kPart));
  Put("small", Pattern(10));
  std::vector<FetchItem> items(200, {{"b", "small"}, {}});
  items[0].name.key = "large";
  GetMany batch(&context_, items, {});
  for (int taken = 0; taken < 100; ++taken) ASSERT_TRUE(batch.Next({})->result.ok());
  const int before = store_.whole_reads;
  while (batch.Next({})) {
  }
  EXPECT_LT(store_.whole_reads - before, 70);  // of the hundred that were left when counted
}

// While a read may still write into a buffer, nobody else may get its memory.
TEST_F(ObjectTest, DroppedFetchesKeepTheirMemoryUntilNothingWritesIntoIt) {
  Put("o", Pattern(7 * kPart));
  std::size_t before = 0;
  int dropped = 0;
  store_.stall = [&] {
    ++dropped;
    EXPECT_LE(buffers_.retained(), before);
  };
  std::stop_source stop;
  stop.request_stop();
  {
    GetMany batch(&context_, {{{"b", "o"}, {.range = std::nullopt, .size = 7 * kPart}}}, {});
    EXPECT_EQ(batch.Next(stop.get_token())->result.status().code(), StatusCode::kCancelled);
  }
  EXPECT_EQ(dropped, 7);
  before = buffers_.retained();
  {
    Reader reader(&context_, {"b", "o"}, {});
    std::string out(10, '\0');
    EXPECT_FALSE(reader.ReadAt(0, std::as_writable_bytes(std::span(out)), stop.get_token()).ok());
  }
  EXPECT_GE(dropped, 8);
}

// Four announced batches fill the look-ahead share; the fifth, waited for, still gets its memory.
TEST_F(ObjectTest, AnnouncedBatchesNeverKeepAWaitingOneFromItsMemory) {
  Put("o", Pattern(kPart));
  const std::vector<FetchItem> items(100, {{"b", "o"}, {.range = std::nullopt, .size = kPart}});
  std::vector<std::unique_ptr<GetMany>> ahead;
  ahead.reserve(4);
  for (int i = 0; i < 4; ++i) {
    ahead.push_back(std::make_unique<GetMany>(&context_, items, GetManyOptions{.ahead = true}));
  }
  EXPECT_GT(budget_.in_use(Share::kLookAhead), 50'000U);
  GetMany now(&context_, items, {});
  int results = 0;
  while (std::optional<GetMany::Item> item = now.Next({})) results += item->result.ok() ? 1 : 0;
  EXPECT_EQ(results, 100);
  for (auto& batch : ahead) {
    results = 0;
    while (std::optional<GetMany::Item> item = batch->Next({}))
      results += item->result.ok() ? 1 : 0;
    EXPECT_EQ(results, 100);
  }
}

// The reader against the plain string, at random places and lengths.
TEST_F(ObjectTest, ReaderEqualsTheBytesWhereverItReads) {
  for (const std::size_t size : {0UL, 1UL, kPart - 1, kPart, kPart + 1, 40 * kPart, 400 * kPart}) {
    const std::string bytes = Pattern(size);
    Put("o", bytes);
    Random random(size + 1);
    for (const bool known : {true, false}) {
      for (const bool sequential : {true, false}) {
        ReaderOptions options;
        if (known) options.size = size;
        options.sequential = sequential;
        Reader reader(&context_, {"b", "o"}, options);
        std::uint64_t at = 0;
        for (int i = 0; i < 200; ++i) {
          if (random.Below(4) == 0) at = random.Below(size + 10);
          std::string out(random.Below((random.Below(8) == 0 ? 50 : 3) * kPart), '\0');
          Result<std::size_t> n = reader.ReadAt(at, std::as_writable_bytes(std::span(out)), {});
          ASSERT_TRUE(n.ok()) << n.status().ToString();
          const std::string expected = at >= size ? "" : bytes.substr(at, out.size());
          ASSERT_EQ(out.substr(0, *n), expected) << "at " << at << " of " << size;
          at += *n;
        }
        EXPECT_EQ(*reader.Size({}), size);
      }
    }
  }
}

TEST_F(ObjectTest, ReaderInSequenceReadsEachByteOnce) {
  const std::string bytes = Pattern(60 * kPart);
  Put("o", bytes);
  store_.bytes_read = 0;
  Reader reader(&context_, {"b", "o"}, {});
  std::string out(100, '\0');
  for (std::uint64_t at = 0; at < bytes.size(); at += out.size()) {
    ASSERT_EQ(*reader.ReadAt(at, std::as_writable_bytes(std::span(out)), {}), out.size());
  }
  EXPECT_EQ(store_.bytes_read, bytes.size());
}

// A jump ends the reading ahead; what the read itself asks for is fetched all at once.
TEST_F(ObjectTest, ALargeReadAfterASeekHasAllItsPartsUnderWay) {
  const std::string bytes = Pattern(500 * kPart);
  Put("o", bytes);
  Reader reader(&context_, {"b", "o"}, {});
  std::string out(10 * kPart, '\0');
  const std::span<std::byte> wanted = std::as_writable_bytes(std::span(out));
  ASSERT_EQ(*reader.ReadAt(0, wanted.first(10), {}), 10U);
  int dropped = 0;
  store_.stall = [&] { ++dropped; };
  std::stop_source stop;
  stop.request_stop();
  store_.reads = 0;
  EXPECT_FALSE(reader.ReadAt(300 * kPart, wanted, stop.get_token()).ok());
  EXPECT_EQ(store_.reads, 10);
  EXPECT_EQ(dropped, 10);

  store_.stall = nullptr;
  store_.reads = 0;
  ASSERT_EQ(*reader.ReadAt(150 * kPart, wanted, {}), out.size());
  EXPECT_EQ(out, bytes.substr(150 * kPart, out.size()));
  EXPECT_EQ(store_.reads, 10);
}

TEST_F(ObjectTest, ALargeReadBehindASmallOneIsNotInSmallPieces) {
  context_.options.part_size = 60 * kPart;
  const std::string bytes = Pattern(500 * kPart);
  Put("o", bytes);
  Reader reader(&context_, {"b", "o"}, {.sequential = false});
  std::string out(60 * kPart, '\0');
  store_.reads = 0;
  ASSERT_EQ(*reader.ReadAt(0, std::as_writable_bytes(std::span(out)).first(10), {}), 10U);
  ASSERT_EQ(*reader.ReadAt(10, std::as_writable_bytes(std::span(out)), {}), out.size());
  EXPECT_EQ(out, bytes.substr(10, out.size()));
  EXPECT_EQ(store_.reads, 2);
}

TEST_F(ObjectTest, ALargeReadOfAnUnknownObjectFirstLearnsItsSize) {
  Put("o", Pattern(10));
  Reader reader(&context_, {"b", "o"}, {.sequential = false});
  std::string out(50 * kPart, '\0');
  store_.reads = 0;
  ASSERT_EQ(*reader.ReadAt(0, std::as_writable_bytes(std::span(out)), {}), 10U);
  EXPECT_EQ(store_.reads, 1);
}

TEST_F(ObjectTest, ALargeReadTakesTheMemoryThatIsThere) {
  const std::string bytes = Pattern(600 * kPart);
  Put("o", bytes);
  Reader reader(&context_, {"b", "o"}, {.size = bytes.size()});
  std::string out(200 * kPart, '\0');
  const std::span<std::byte> wanted = std::as_writable_bytes(std::span(out));
  ASSERT_EQ(*reader.ReadAt(0, wanted.first(10), {}), 10U);
  for (const std::size_t parts : {64, 3, 0}) {  // that others leave
    const std::size_t left = std::max<std::size_t>(parts * kPart, 1);
    const Lease others = *budget_.TryAcquire(
        Share::kReads, budget_.limit(Share::kReads) - budget_.in_use(Share::kReads) - left);
    ASSERT_EQ(*reader.ReadAt(300 * kPart + parts, wanted, {}), out.size());
    EXPECT_EQ(out, bytes.substr(300 * kPart + parts, out.size()));
  }
  EXPECT_LE(budget_.peak(Share::kReads), budget_.limit(Share::kReads));
  EXPECT_LE(budget_.peak(Share::kLookAhead), budget_.limit(Share::kLookAhead));
}

// Threads over one large file, none of them far from the others: the service sees each byte once.
TEST_F(ObjectTest, ReadersOfOneVersionShareWhatIsFetched) {
  const std::string bytes = Pattern(60 * kPart);
  Put("o", bytes);
  const std::string etag = store_.Stat({"b", "o"}).Wait()->etag;
  store_.bytes_read = 0;
  std::deque<Reader> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back(&context_, store::Name{"b", "o"},
                         ReaderOptions{.size = bytes.size(), .if_match = etag});
  }
  std::string out(100, '\0');
  for (std::uint64_t at = 0; at < bytes.size(); at += out.size()) {
    for (Reader& reader : readers) {
      ASSERT_EQ(*reader.ReadAt(at, std::as_writable_bytes(std::span(out)), {}), out.size());
      ASSERT_EQ(out, bytes.substr(at, out.size()));
    }
  }
  EXPECT_EQ(store_.bytes_read, bytes.size());
  // Whoever starts in the middle of what another holds joins there.
  Reader& middle = readers.emplace_back(&context_, store::Name{"b", "o"},
                                        ReaderOptions{.size = bytes.size(), .if_match = etag});
  ASSERT_EQ(*middle.ReadAt(bytes.size() - 50, std::as_writable_bytes(std::span(out)), {}), 50U);
  EXPECT_EQ(out.substr(0, 50), bytes.substr(bytes.size() - 50));
  EXPECT_EQ(store_.bytes_read, bytes.size());
}

TEST_F(ObjectTest, ReadersFromManyThreadsShareWhatIsFetched) {
  const std::string bytes = Pattern(60 * kPart);
  Put("o", bytes);
  const std::string etag = store_.Stat({"b", "o"}).Wait()->etag;
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  threads.reserve(8);
  for (unsigned i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Random random(i);
      Reader reader(&context_, {"b", "o"}, {.size = bytes.size(), .if_match = etag});
      std::string out(700, '\0');
      for (int n = 0; n < 200; ++n) {
        const std::uint64_t at = random.Below(bytes.size() - out.size());
        const Result<std::size_t> got =
            reader.ReadAt(at, std::as_writable_bytes(std::span(out)), {});
        right += got.ok() && out == bytes.substr(at, out.size()) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8 * 200);
  EXPECT_EQ(budget_.in_use(Share::kReads) + budget_.in_use(Share::kLookAhead), 0U);
}

// Who opens an object after it was replaced reads the new one, whatever others still hold.
TEST_F(ObjectTest, ReadersOfUnknownVersionJoinNothing) {
  Put("o", Pattern(40 * kPart, 1));
  Reader old(&context_, {"b", "o"}, {});
  std::string out(10, '\0');
  ASSERT_TRUE(old.ReadAt(0, std::as_writable_bytes(std::span(out)), {}).ok());
  const std::string bytes = Pattern(40 * kPart, 2);
  Put("o", bytes);
  Reader fresh(&context_, {"b", "o"}, {});
  ASSERT_TRUE(fresh.ReadAt(0, std::as_writable_bytes(std::span(out)), {}).ok());
  EXPECT_EQ(out, bytes.substr(0, 10));
}

TEST_F(ObjectTest, ReaderSaysWhenTheObjectWasReplaced) {
  Put("o", Pattern(40 * kPart, 1));
  Reader reader(&context_, {"b", "o"}, {});
  std::string out(10, '\0');
  ASSERT_TRUE(reader.ReadAt(0, std::as_writable_bytes(std::span(out)), {}).ok());
  Put("o", Pattern(40 * kPart, 2));
  EXPECT_EQ(reader.ReadAt(39 * kPart, std::as_writable_bytes(std::span(out)), {}).status().code(),
            StatusCode::kObjectChanged);
}

TEST_F(ObjectTest, ReaderTellsNoSizeOfAnotherVersion) {
  Put("o", Pattern(kPart, 1));
  Reader reader(&context_, {"b", "o"}, {.if_match = "another"});
  EXPECT_EQ(reader.Size({}).status().code(), StatusCode::kObjectChanged);
}

TEST_F(ObjectTest, WriterPublishesAnySize) {
  for (const std::size_t size : {0UL, 1UL, kPart, 2 * kPart, 2 * kPart + 1, 9 * kPart + 5}) {
    for (const bool known : {true, false}) {
      PutOptions options;
      if (known) options.expected_size = size;
      Writer writer(&context_, {"b", "o"}, options);
      const std::string bytes = Pattern(size);
      for (std::size_t at = 0; at < size; at += 700) {
        const std::string piece = bytes.substr(at, 700);
        ASSERT_TRUE(writer.Write(std::as_bytes(std::span(piece)), {}).ok());
      }
      Result<std::string> etag = writer.Close({});
      ASSERT_TRUE(etag.ok()) << etag.status().ToString();
      EXPECT_EQ(Stored("o"), bytes);
      EXPECT_EQ(writer.written(), size);
    }
  }
}

TEST_F(ObjectTest, AStreamThatEndsByTheThresholdIsOnePut) {
  for (const std::size_t size : {kPart + 1, 2 * kPart}) {
    store_.puts = 0;
    Writer writer(&context_, {"b", "o"}, {});
    const std::string bytes = Pattern(size);
    ASSERT_TRUE(writer.Write(std::as_bytes(std::span(bytes)), {}).ok());
    ASSERT_TRUE(writer.Close({}).ok());
    EXPECT_EQ(store_.puts, 1);
    EXPECT_EQ(Stored("o"), bytes);
  }
  EXPECT_THAT(store_.part_sizes, testing::IsEmpty());
}

TEST_F(ObjectTest, PartsOfAStreamAreNeverShortBeforeTheLast) {
  context_.options.multipart_threshold = 2 * kPart + 100;
  Writer writer(&context_, {"b", "o"}, {});
  const std::string bytes = Pattern(4 * kPart);
  ASSERT_TRUE(writer.Write(std::as_bytes(std::span(bytes)), {}).ok());
  ASSERT_TRUE(writer.Close({}).ok());
  EXPECT_THAT(store_.part_sizes, testing::ElementsAre(kPart, kPart + 100, kPart, kPart - 100));
  EXPECT_EQ(Stored("o"), bytes);
}

TEST_F(ObjectTest, AStreamIsSentInPartsWhereThereIsNoMemoryToKeepItBack) {
  const Lease others = *budget_.TryAcquire(Share::kUploads, budget_.limit(Share::kUploads) - kPart);
  Writer writer(&context_, {"b", "o"}, {});
  const std::string bytes = Pattern(2 * kPart);
  ASSERT_TRUE(writer.Write(std::as_bytes(std::span(bytes)), {}).ok());
  ASSERT_TRUE(writer.Close({}).ok());
  EXPECT_THAT(store_.part_sizes, testing::ElementsAre(kPart, kPart));
  EXPECT_EQ(Stored("o"), bytes);
}

TEST_F(ObjectTest, AnUnclosedWriterPublishesNothing) {
  Put("o", "old");
  for (const std::size_t size : {10UL, 9 * kPart}) {
    Writer writer(&context_, {"b", "o"}, {});
    const std::string bytes = Pattern(size);
    ASSERT_TRUE(writer.Write(std::as_bytes(std::span(bytes)), {}).ok());
  }
  EXPECT_EQ(Stored("o"), "old");
}

TEST_F(ObjectTest, AFailedPartFailsTheWriterAndAbortsTheUpload) {
  Put("o", "old");
  store_.fail_part = 3;
  Writer writer(&context_, {"b", "o"}, {});
  const std::string bytes = Pattern(30 * kPart);
  Status status = writer.Write(std::as_bytes(std::span(bytes)), {});
  if (status.ok()) status = writer.Close({}).status();
  EXPECT_EQ(status.code(), StatusCode::kServerError);
  EXPECT_FALSE(writer.Close({}).ok());
  EXPECT_EQ(Stored("o"), "old");
}

// Which of its bytes a stopped write took nobody can tell.
TEST_F(ObjectTest, AWriteStoppedWhileItWaitsForMemoryEndsTheWriter) {
  Put("o", "old");
  std::optional<Lease> others = budget_.TryAcquire(Share::kUploads, budget_.limit(Share::kUploads));
  std::stop_source stop;
  stop.request_stop();
  Writer writer(&context_, {"b", "o"}, {});
  const std::string bytes = Pattern(10);
  EXPECT_EQ(writer.Write(std::as_bytes(std::span(bytes)), stop.get_token()).code(),
            StatusCode::kCancelled);
  others.reset();
  EXPECT_EQ(writer.Write(std::as_bytes(std::span(bytes)), {}).code(), StatusCode::kCancelled);
  EXPECT_EQ(writer.Close({}).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(Stored("o"), "old");
}

TEST_F(ObjectTest, PartsGrowForAStreamOfUnknownLength) {
  Writer writer(&context_, {"b", "o"}, {});
  const std::string piece = Pattern(100 * kPart);
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(writer.Write(std::as_bytes(std::span(piece)), {}).ok());
  }
  ASSERT_TRUE(writer.Close({}).ok());
  ASSERT_GT(store_.part_sizes.size(), 1001U);
  EXPECT_EQ(store_.part_sizes[999], kPart);
  EXPECT_EQ(store_.part_sizes[1000], 2 * kPart);
}

TEST_F(ObjectTest, WhereThePartsEndTheErrorGivesTheCure) {
  store_.max_parts = 5;
  Writer writer(&context_, {"b", "o"}, {});
  const std::string bytes = Pattern(20 * kPart);
  Status status = writer.Write(std::as_bytes(std::span(bytes)), {});
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("expected_size"), std::string::npos) << status.message();
  // With the length known the parts are made large enough.
  Writer sized(&context_, {"b", "o"}, {.expected_size = bytes.size()});
  ASSERT_TRUE(sized.Write(std::as_bytes(std::span(bytes)), {}).ok());
  ASSERT_TRUE(sized.Close({}).ok());
  EXPECT_EQ(Stored("o"), bytes);
}

TEST_F(ObjectTest, DownloadsAnySizeOrRange) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const int fd = fileno(file);
  for (const std::size_t size : {0UL, 1UL, kPart, kPart + 1, 7 * kPart + 3}) {
    const std::string bytes = Pattern(size);
    Put("o", bytes);
    for (const bool known : {true, false}) {
      for (const std::optional<ByteRange> range :
           {std::optional<ByteRange>(), std::optional(ByteRange{1, 2 * kPart}),
            std::optional(ByteRange{5})}) {
        ASSERT_EQ(ftruncate(fd, 0), 0);
        GetOptions options;
        options.range = range;
        if (known) options.size = size;
        std::uint64_t moved = 0;
        Result<ObjectInfo> info = DownloadFile(context_, {"b", "o"}, fd, options, {},
                                               [&](std::uint64_t n) { moved += n; });
        ASSERT_TRUE(info.ok()) << info.status().ToString();
        std::string expected = bytes;
        if (range)
          expected =
              range->offset >= size
                  ? ""
                  : bytes.substr(range->offset, std::min<std::uint64_t>(range->length, size));
        std::string out(size + 10, '\0');
        const ssize_t n = pread(fd, out.data(), out.size(), 0);
        EXPECT_EQ(out.substr(0, static_cast<std::size_t>(n)), expected) << size;
        EXPECT_EQ(moved, expected.size());
        EXPECT_EQ(info->size, size);
      }
    }
  }
  std::fclose(file);
}

TEST_F(ObjectTest, ADownloadListedAsEmptyIsNotWhatReplacedIt) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const auto download = [&](GetOptions options) {
    return DownloadFile(context_, {"b", "o"}, fileno(file), options, {}, {}).status().code();
  };
  Put("o", "");
  const std::string etag = store_.Stat({"b", "o"}).Wait()->etag;
  EXPECT_EQ(download({.if_match = etag, .size = 0}), StatusCode::kOk);
  Put("o", "");
  EXPECT_EQ(download({.if_match = etag, .size = 0}), StatusCode::kObjectChanged);
  EXPECT_EQ(download({.size = 0}), StatusCode::kOk);
  Put("o", "bytes");
  EXPECT_EQ(download({.size = 0}), StatusCode::kObjectChanged);
  std::fclose(file);
}

TEST_F(ObjectTest, ADownloadTakesTheMemoryOfWhatItWasTold) {
  Put("o", Pattern(10));
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  std::size_t held = 0;
  const auto progress = [&](std::uint64_t) { held = budget_.in_use(Share::kReads); };
  ASSERT_TRUE(DownloadFile(context_, {"b", "o"}, fileno(file), {.size = 10}, {}, progress).ok());
  EXPECT_EQ(held, 10U);
  ASSERT_TRUE(DownloadFile(context_, {"b", "o"}, fileno(file), {}, {}, progress).ok());
  EXPECT_EQ(held, kPart);
  std::fclose(file);
}

TEST_F(ObjectTest, LargeCopiesGoInParts) {
  const std::string bytes = Pattern(5 * kPart);
  Put("o", bytes);
  context_.options.copy_threshold = kPart;
  ASSERT_TRUE(CopyWithin(context_, {"b", "o"}, {"b", "copy"}, {}, {}).ok());
  EXPECT_EQ(Stored("copy"), bytes);
}

TEST_F(ObjectTest, WhatACopyIsNotGivenIsTheSources) {
  using Map = std::map<std::string, std::string>;
  const PutOptions all = {.content_type = "text/x", .metadata = {{"m", "1"}}, .tags = {{"t", "1"}}};
  ASSERT_TRUE(store_.Put({"b", "o"}, Buffer::FromString(Pattern(2 * kPart)), all).Wait().ok());
  for (const std::size_t threshold : {kPart, 4 * kPart}) {
    context_.options.copy_threshold = threshold;
    auto copy = [&](const PutOptions& given) {
      EXPECT_TRUE(CopyWithin(context_, {"b", "o"}, {"b", "copy"}, given, {}).ok());
      const ObjectInfo info = *store_.Stat({"b", "copy"}).Wait();
      return std::tuple(info.content_type, info.metadata, *store_.TagsOf({"b", "copy"}).Wait());
    };
    EXPECT_EQ(copy({}), std::tuple("text/x", Map{{"m", "1"}}, Map{{"t", "1"}}));
    EXPECT_EQ(copy({.content_type = "text/y"}),
              std::tuple("text/y", Map{{"m", "1"}}, Map{{"t", "1"}}));
    EXPECT_EQ(copy({.metadata = {{"n", "2"}}}),
              std::tuple("text/x", Map{{"n", "2"}}, Map{{"t", "1"}}));
    EXPECT_EQ(copy({.tags = {{"u", "2"}}}), std::tuple("text/x", Map{{"m", "1"}}, Map{{"u", "2"}}));
  }
}

TEST_F(ObjectTest, CopiesOfAnySizeMayBeToldToCreateOnly) {
  Put("small", "new");
  Put("large", Pattern(5 * kPart));
  Put("there", "old");
  context_.options.copy_threshold = kPart;
  for (const char* source : {"small", "large"}) {
    const Result<std::string> copied =
        CopyWithin(context_, {"b", source}, {"b", "there"}, {.if_none_match = true}, {});
    EXPECT_EQ(copied.status().code(), StatusCode::kAlreadyExists) << copied.status().ToString();
    EXPECT_EQ(Stored("there"), "old");
  }
}

TEST_F(ObjectTest, DeletesSomeOneByOne) {
  const std::vector<store::Name> names = {{"b", "a"}, {"b", "x\x01y"}, {"b", "c"}};
  for (const store::Name& name : names) Put(name.key, "x");
  const std::vector<Status> statuses = DeleteKeys(context_, names, {});
  ASSERT_EQ(statuses.size(), 3U);
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(store_.List({.bucket = "b"}).Wait()->objects.size(), 0U);
}

}  // namespace
}  // namespace headrace::object
