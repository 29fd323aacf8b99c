// The engine, as C++ programs and the Python package see it.
//
//   Result<std::shared_ptr<Client>> client = Client::Open({.region = "eu-west-1"});
//   Result<Object> o = (*client)->Get("s3://bucket/key");
//
// Addresses are "s3://bucket/key" (the key literal: nothing is decoded), "file:///path" or a plain
// path, and "memory://name/key" (this client's own, for tests).
//
// All calls block until they have their answer, are safe from many threads, and take a stop token
// that ends them with kCancelled. Nothing waits for ever: see the deadlines in ClientOptions.
//
// After a fork the child must call Client::AbandonAfterFork on what it inherited and open its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/buffer.h"
#include "headrace/object_info.h"
#include "headrace/options.h"
#include "headrace/status.h"

namespace headrace {

// An object's bytes, or a range's, and the version that they belong to.
struct Object {
  std::string uri;
  std::string etag;
  std::uint64_t object_size = 0;  // of the whole object
  Buffer data;
};

struct GetItem {
  std::string uri;
  GetOptions options;
};

// Many objects at once. The fetches run on whether or not anybody waits, as far as the memory
// budget allows; dropping the batch cancels what is left. One consumer thread.
class GetBatch {
 public:
  virtual ~GetBatch() = default;
  // An item's place in the request, and what became of it. nullopt when all were handed out, or
  // kCancelled as the result when `stop` was requested.
  struct Item {
    std::size_t index = 0;
    Result<Object> result;
  };
  virtual std::optional<Item> Next(std::stop_token stop = {}) = 0;
  // Whether Next would hand out an item at once.
  virtual bool Ready() = 0;
};

struct GetManyOptions {
  bool ordered = true;    // results in the order asked for, else as they arrive
  int max_in_flight = 0;  // of this batch; 0 = as many as the client allows
  // Announced ahead of need: takes its memory from the look-ahead share until it is waited for.
  bool ahead = false;
};

struct ListEntry {
  std::string_view key;  // or a common prefix, which ends in '/'
  bool is_prefix = false;
  std::uint64_t size = 0;
  std::string_view etag;  // without quotes
  std::chrono::system_clock::time_point last_modified{};
  std::string_view storage_class;  // "" = STANDARD
};

// A listing under way, page by page, each key once: in bytewise order where the service lists in
// that order, as S3 does, else in no order to rely on.
class Lister {
 public:
  virtual ~Lister() = default;
  // The next page's entries, valid until the next call; empty at the end. An error, that of a stop
  // among them, ends the listing: every later call returns it again.
  virtual Result<std::span<const ListEntry>> NextPage(std::stop_token stop = {}) = 0;
};

// Random and sequential reads of one version of one object (pinned by its ETag at the first
// answer). Reads ahead of a sequential reader, inside the memory budget. One thread at a time.
class Reader {
 public:
  virtual ~Reader() = default;
  // Reads up to out.size() bytes at `offset` into `out`; fewer only at the object's end (0 at or
  // past it). kObjectChanged when the object was replaced since the first read.
  virtual Result<std::size_t> ReadAt(std::uint64_t offset, std::span<std::byte> out,
                                     std::stop_token stop = {}) = 0;
  // Bytes in the object; asks the service once when not known yet.
  virtual Result<std::uint64_t> Size(std::stop_token stop = {}) = 0;
  // Starts fetching from `offset` on, without waiting.
  virtual void Prefetch(std::uint64_t offset) = 0;
  // The version that is read; empty until the first answer.
  virtual std::string Etag() const = 0;
};

// Publishes an object when closed, and nothing otherwise. Dropping an open writer aborts it. One
// thread.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual Status Write(std::span<const std::byte> bytes, std::stop_token stop = {}) = 0;
  // The new object's ETag. After an error nothing was published, and the upload was aborted, as far
  // as the service could be asked: where all answers were lost, the object may be there.
  virtual Result<std::string> Close(std::stop_token stop = {}) = 0;
  virtual void Abort() = 0;
  virtual std::uint64_t written() const = 0;  // bytes
};

// What it hands out (batches, listers, readers, writers) must be gone before it is.
class Client {
 public:
  // kInvalidArgument when the options contradict each other or the endpoint is malformed. The
  // service is not asked anything; an instance's metadata may be, for its region.
  static Result<std::shared_ptr<Client>> Open(const ClientOptions& options);
  virtual ~Client() = default;

  // For a child of fork(): closes the inherited connections and lets go of the client without
  // running its destructor. `client` is null afterwards.
  static void AbandonAfterFork(std::shared_ptr<Client>& client);

  virtual Result<ObjectInfo> Head(std::string_view uri, std::stop_token stop = {}) = 0;

  // The bytes in fresh memory of the engine's.
  virtual Result<Object> Get(std::string_view uri, const GetOptions& options = {},
                             std::stop_token stop = {}) = 0;
  // Items that ask for `verify` get kUnsupported: that is Get's and Download's.
  virtual std::unique_ptr<GetBatch> GetMany(std::vector<GetItem> items,
                                            const GetManyOptions& options = {}) = 0;

  // The new object's ETag.
  virtual Result<std::string> Put(std::string_view uri, std::span<const std::byte> data,
                                  const PutOptions& options = {}, std::stop_token stop = {}) = 0;
  // Uploads from a local file, in parallel parts above the threshold. `progress` hears of bytes
  // sent.
  virtual Result<std::string> Upload(const std::string& path, std::string_view uri,
                                     const PutOptions& options = {}, std::stop_token stop = {},
                                     const std::function<void(std::uint64_t)>& progress = {}) = 0;
  // Downloads into an open local file at offset 0, in parallel parts; the file is grown as needed.
  // Returns the object's description. `progress` hears of bytes received.
  virtual Result<ObjectInfo> Download(std::string_view uri, int fd, const GetOptions& options = {},
                                      std::stop_token stop = {},
                                      const std::function<void(std::uint64_t)>& progress = {}) = 0;

  // All that stand under a prefix: "s3://bucket/prefix" (a prefix of keys, not a folder).
  virtual Result<std::unique_ptr<Lister>> List(std::string_view uri,
                                               const ListOptions& options = {}) = 0;

  // One Status per address, in order. Deleting what is not there succeeds, as S3 has it.
  virtual std::vector<Status> Delete(std::span<const std::string> uris,
                                     std::stop_token stop = {}) = 0;
  // Server-side where both ends are one service, else through this client. Content type, metadata
  // and tags that `options` does not give are the source's; between two kinds of storage tags stay
  // behind. Other headers that S3 keeps (Cache-Control, Content-Encoding and their like) go along
  // only up to copy_threshold, and where neither content type nor metadata is given. Reading the
  // tags of an object above copy_threshold takes the right to (s3:GetObjectTagging).
  virtual Result<std::string> Copy(std::string_view source, std::string_view target,
                                   const PutOptions& options = {}, std::stop_token stop = {}) = 0;

  virtual Result<std::unique_ptr<Reader>> OpenReader(std::string_view uri,
                                                     const ReaderOptions& options = {}) = 0;
  virtual Result<std::unique_ptr<Writer>> OpenWriter(std::string_view uri,
                                                     const PutOptions& options = {}) = 0;

  // `bucket` is an address without a key: "s3://bucket".
  virtual Status CreateBucket(std::string_view bucket, std::stop_token stop = {}) = 0;
  virtual Status DeleteBucket(std::string_view bucket, std::stop_token stop = {}) = 0;
  // Buckets that these credentials can see.
  virtual Result<std::vector<std::string>> ListBuckets(std::stop_token stop = {}) = 0;

  // Name and value of every metric: requests and bytes by operation, retries by class, hedges sent
  // and won, latencies, connections, budget in use, and the resolved limits.
  virtual std::vector<std::pair<std::string, double>> Metrics() const = 0;
  virtual std::string PrometheusText() const = 0;
};

// "0.1.0"
std::string_view Version();

// Bucket and key of an address, as every call above reads it. kInvalidArgument says what is wrong.
struct Address {
  enum class Scheme : std::uint8_t { kS3, kFile, kMemory };
  Scheme scheme = Scheme::kS3;
  std::string bucket;  // "" for files
  std::string key;     // the path for files
};
Result<Address> ParseAddress(std::string_view uri);
std::string FormatAddress(const Address& address);

}  // namespace headrace
