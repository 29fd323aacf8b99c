// One object, or a range of one, brought into memory.
//
// How many requests that takes depends on what is known:
//   size known, up to one part:  one GET without a range (so that its checksum can be verified)
//   size unknown:                the same GET; when the object turns out longer than a part, its
//   first
//                                part is kept and the rest comes in ranges
//   longer than a part:          ranged GETs side by side, each landing where it belongs
// All parts are of one version: the first answer's ETag pins the others (kObjectChanged).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/completion_queue.h"
#include "headrace/options.h"
#include "object/context.h"

namespace headrace::object {

struct FetchItem {
  store::Name name;
  GetOptions options;
};

struct Fetched {
  Buffer data;
  std::string etag;
  std::uint64_t object_size = 0;
  bool verified = false;  // compared with the checksum stored with the whole object
};

// Used by one thread. Dropping it cancels.
class Fetch {
 public:
  // `expected` is the length to plan for as long as the result's is unknown.
  Fetch(const Context* context, FetchItem item, std::uint64_t expected);

  // Bytes of memory that Start needs; once outgrown, what Resume needs.
  std::size_t bytes_needed() const;
  // Of the result in bytes, once known.
  std::optional<std::uint64_t> length() const { return length_; }
  // Sends the first requests. Every one of them, when it is ready, puts `tag` into `done` once;
  // call Advance then.
  void Start(Lease lease, CompletionQueue<std::size_t>* done, std::size_t tag);

  // kOutgrown: the object turned out longer than the lease. Go on with Resume, or drop this and
  // start another with OutgrownItem() when there is memory.
  enum class Step : std::uint8_t { kUnderWay, kOutgrown, kDone };
  // Takes what arrived, sends what must follow.
  Step Advance();
  // Replaces the lease and sends for the rest. REQUIRES: Advance() said kOutgrown.
  void Resume(Lease lease);
  // The same item with the size and the version that the first part told.
  FetchItem OutgrownItem() const;
  // REQUIRES: Advance() said kDone. The lease ends: the bytes are the caller's now.
  Result<Fetched> Take();

 private:
  struct Piece {
    Pending<store::ReadReply> pending;
    std::uint64_t offset = 0;  // in the result
    std::uint64_t length = 0;
  };

  void Send(std::uint64_t offset, std::uint64_t length, const std::function<void()>& arrived);
  void SendPieces(std::uint64_t from);
  Status TakeWhole(store::ReadReply reply);
  Status TakePiece(const Piece& piece, const store::ReadReply& reply);
  void Fail(Status status);

  const Context& context_;
  const FetchItem item_;
  const std::uint64_t expected_;
  Lease lease_;
  CompletionQueue<std::size_t>* done_ = nullptr;
  std::size_t tag_ = 0;

  // Of the object: where the result begins, how much was asked for, how long it is once known.
  std::uint64_t begin_ = 0;
  std::uint64_t wanted_ = UINT64_MAX;
  std::optional<std::uint64_t> length_;
  std::optional<std::uint64_t> size_;  // the object's, listed or answered
  bool whole_ = false;                 // one GET without a range is under way
  bool outgrown_ = false;              // fetched_ holds the beginning only
  // `size_` is the length of an answer that was not read to its end, which may be wrong: the next
  // answer of that version tells.
  bool size_unsure_ = false;
  Fetched fetched_;
  std::optional<Result<Fetched>> result_;
  std::size_t pieces_left_ = 0;
  std::vector<Piece> pieces_;  // after fetched_, so dropped before it: they write into its buffer
};

// Fetches one object and waits for it.
Result<Fetched> FetchNow(const Context& context, FetchItem item, const std::stop_token& stop);

}  // namespace headrace::object
