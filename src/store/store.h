// One interface over every place that objects live: S3, a local folder, memory.
//
// Calls start at once and return what will arrive later; dropping a Pending cancels. Keys are
// opaque bytes; a backend that cannot hold a key refuses it with kUnsupported or kInvalidArgument,
// never by changing it. Errors are those of headrace/status.h and mean the same on every backend:
// the conformance suite (testing/store_conformance.h) is the contract in detail.
//
// Implementations are safe for use from many threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/pending.h"
#include "headrace/buffer.h"
#include "headrace/object_info.h"
#include "headrace/options.h"
#include "s3/checksum.h"
#include "s3/list_page.h"

namespace headrace::store {

struct Name {
  std::string bucket;
  std::string key;
};

struct ReadRequest {
  Name name;
  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // > 0; what lies past the object's end is left out
  };
  std::optional<Range> range;  // nullopt: the whole object
  // Bare ETag: these bytes or kObjectChanged. Empty: whatever is there.
  std::string etag;
  // Where the bytes go: at least range->length. Empty: into memory of the store's. Only with a
  // range.
  std::span<std::byte> into;
  // Without a range: keep at most this many bytes.
  std::uint64_t keep_at_most = UINT64_MAX;
  // Compare a whole object with the checksum stored with it, where there is one
  // (kChecksumMismatch).
  bool verify = true;
};

struct ReadReply {
  Buffer data;                 // empty when the bytes went `into` the caller's memory
  std::uint64_t received = 0;  // bytes
  std::uint64_t object_size = 0;
  std::string etag;       // bare
  bool verified = false;  // the whole object's bytes, compared with its stored checksum
  std::chrono::system_clock::time_point last_modified{};
  std::string content_type;
  std::map<std::string, std::string> metadata;
};

// What the service keeps to check an object's bytes against.
struct StoredChecksum {
  s3::Checksum checksum{s3::ChecksumAlgorithm::kNone};  // of the whole object; kNone: there is none
  std::string etag;                                     // of the version it belongs to
};

struct ListRequest {
  std::string bucket;
  std::string prefix;
  bool delimited = false;  // roll keys up at the next '/' after the prefix
  std::string start_after;
  std::string token;  // of the page before
  int max_keys = 1000;
};

// Also the answer to a copy.
struct WriteReply {
  std::string etag;  // bare
};

struct Part {
  int number = 0;  // from 1
  std::string etag;
  std::string checksum;  // as the service wants it back, "" = none
  std::uint64_t size = 0;
};

struct Upload {
  Name name;
  std::string id;
  std::string checksum_algorithm;
  bool if_none_match = false;  // completing it must not replace an object
};

struct Nothing {};

// What a backend can do; the conformance suite and callers go by it.
struct Capabilities {
  bool any_key = true;  // every key of 1 to 1,024 bytes
  // Lists in bytewise order of keys, as far as is known: then a listing may be cut into parts that
  // are asked for side by side, until a key out of order shows otherwise.
  bool bytewise_order = true;
  bool metadata = true;             // keeps content type and user metadata
  std::uint64_t min_part_size = 0;  // of all parts but the last
  int max_parts = 10'000;
  std::uint64_t max_put_size = std::uint64_t{5} << 30;
  std::uint64_t max_part_size = std::uint64_t{5} << 30;
};

class Store {
 public:
  virtual ~Store() = default;
  virtual Capabilities capabilities() const = 0;

  virtual Pending<ReadReply> Read(ReadRequest request) = 0;
  virtual Pending<ObjectInfo> Stat(const Name& name) = 0;
  virtual Pending<StoredChecksum> ChecksumOf(const Name& /*name*/) {
    return Pending<StoredChecksum>::Ready(StoredChecksum{});
  }
  virtual Pending<std::map<std::string, std::string>> TagsOf(const Name& /*name*/) {
    return Pending<std::map<std::string, std::string>>::Ready(std::map<std::string, std::string>());
  }
  virtual Pending<s3::ListPage> List(const ListRequest& request) = 0;

  virtual Pending<WriteReply> Put(const Name& name, Buffer data, const PutOptions& options) = 0;
  virtual Pending<Upload> CreateUpload(const Name& name, const PutOptions& options) = 0;
  virtual Pending<Part> UploadPart(const Upload& upload, int number, Buffer data) = 0;
  virtual Pending<WriteReply> CompleteUpload(const Upload& upload,
                                             const std::vector<Part>& parts) = 0;
  virtual Pending<Nothing> AbortUpload(const Upload& upload) = 0;

  virtual Pending<Nothing> Delete(const Name& name) = 0;
  // Up to 1,000 keys of one bucket, one Status each, in order.
  virtual Pending<std::vector<Status>> DeleteMany(const std::string& bucket,
                                                  const std::vector<std::string>& keys) = 0;
  // Within this store. Content type and metadata go along unless one of them is given, tags unless
  // tags are given. `source_etag`: this version or an error; "": whatever is there.
  virtual Pending<WriteReply> Copy(const Name& source, const Name& target,
                                   const PutOptions& options, const std::string& source_etag) = 0;
  // A part from a range of an object.
  virtual Pending<Part> CopyPart(const Upload& upload, int number, const Name& source,
                                 ReadRequest::Range range, const std::string& source_etag) = 0;

  virtual Pending<Nothing> CreateBucket(const std::string& bucket) = 0;
  virtual Pending<Nothing> DeleteBucket(const std::string& bucket) = 0;
  virtual Pending<std::vector<std::string>> ListBuckets() = 0;
};

}  // namespace headrace::store
