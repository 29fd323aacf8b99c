// One S3 request as the layers above state it, and its answer as they get it. Signing, retries,
// hedging and redirects happen in between (active_request.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/buffer.h"
#include "net/http.h"

namespace headrace::s3 {

enum class Operation : std::uint8_t {
  kGet,
  kHead,
  kPut,
  kDelete,
  kDeleteBatch,
  kCopy,
  kList,
  kCreateUpload,
  kUploadPart,
  kCopyPart,
  kCompleteUpload,
  kAbortUpload,
  kCreateBucket,
  kDeleteBucket,
  kListBuckets,
  kGetTags,
};
inline constexpr std::size_t kOperationCount = 16;

struct OperationFacts {
  // By what S3's own answer of success is told from a page that something in between sent.
  enum class Answer : std::uint8_t { kEtag, kDocument, kNothing };

  std::string_view name;    // metrics' label: "get", "create_upload"
  std::string_view method;  // "GET"
  std::string_view action;  // for messages: "read", "write", "list"
  Answer answer = Answer::kNothing;
  // The answer may be 200 and still hold an error document.
  bool error_in_200 = false;
};
const OperationFacts& FactsOf(Operation operation);

struct S3Request {
  Operation operation = Operation::kGet;
  std::string bucket;  // empty for ListBuckets
  std::string key;     // empty for requests about a bucket
  std::string query;   // from CanonicalQuery()
  // Beside Host, Range, If-Match, the x-amz-* of signing and those the client always sends.
  std::vector<std::pair<std::string, std::string>> headers;
  Buffer body;

  // --- GET ---
  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // > 0
  };
  std::optional<Range> range;
  // Bare ETag: the answer must be this version, else kObjectChanged.
  std::string etag;
  // Where the body goes; else into fresh memory. Ranged requests only: range.length bytes.
  std::span<std::byte> into;
  // Without a range: keep at most this many bytes and stop there.
  std::uint64_t keep_at_most = UINT64_MAX;
  bool verify_checksum = false;
};

struct S3Reply {
  int status = 0;
  net::Headers headers;        // of the first good answer, so the object's as a whole
  Buffer body;                 // empty when the bytes went `into` the caller's memory
  std::uint64_t received = 0;  // bytes of body kept
  // The whole object's bytes, from Content-Range or Content-Length; nullopt when not told.
  std::optional<std::uint64_t> object_size;
  bool cut_short = false;  // there was more than was asked for
  bool verified = false;   // the bytes were compared with the object's stored checksum
};

// "bytes 0-99/1234" -> first byte and whole size. nullopt when it is not of that form; the size is
// nullopt for "*".
struct ContentRange {
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> size;
};
std::optional<ContentRange> ParseContentRange(std::string_view text);
// Decimal digits only.
std::optional<std::uint64_t> ParseUnsigned(std::string_view text);

}  // namespace headrace::s3
