// Reads any range of one object, and reads ahead of whoever reads on.
//
// What is fetched ahead is a row of chunks that stand together. The reader's position decides:
//   inside the row           serve from it; drop what lies well behind; keep the row growing ahead
//   just past its end        go on (a small forward seek)
//   anywhere else            a jump: cancel the row, start a new one there, small
// What a read itself asks for is fetched all at once, whatever came before it. Beyond that, chunks
// start at 256 KiB and double up to the part size with each chunk consumed in sequence, and the row
// grows from two chunks to as many as keep the reader from waiting, inside the memory budget. So
// random reads fetch little more than they ask for, and a sequential reader soon has many parts in
// flight. One chunk behind the position is kept, so that small backward seeks cost nothing. Chunks
// are shared with other readers of the same version (shared_chunks.h).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

#include "object/context.h"
#include "object/shared_chunks.h"

namespace headrace::object {

// One thread at a time.
class Reader {
 public:
  Reader(const Context* context, store::Name name, ReaderOptions options);

  Result<std::size_t> ReadAt(std::uint64_t offset, std::span<std::byte> out,
                             const std::stop_token& stop);
  Result<std::uint64_t> Size(const std::stop_token& stop);
  void Prefetch(std::uint64_t offset);
  // Of the version that is read; empty until the first answer.
  const std::string& etag() const { return etag_; }

 private:
  using Row = std::deque<std::shared_ptr<Chunk>>;

  std::uint64_t RowEnd() const;
  // Begins a read: on the row, or on a new one.
  void Seek(std::uint64_t offset, std::size_t wanted);
  void Jump(std::uint64_t offset, std::size_t wanted);
  // Joins or sends the next chunk of the row. False when memory is short or the object ends.
  bool Grow(Share share);
  // Sends for a chunk; null when memory is short.
  std::shared_ptr<Chunk> Send(Share share, std::uint64_t offset) const;
  Row::const_iterator ChunkAt(std::uint64_t position) const;
  // What is asked for, as far as the memory reaches.
  void GrowTo(std::uint64_t end);
  void GrowAhead(std::uint64_t position);
  // Waits for the chunk: how many bytes of it there are.
  Result<std::uint64_t> Await(Chunk& chunk, const std::stop_token& stop);
  Result<std::size_t> ReadInto(std::uint64_t offset, std::span<std::byte> out,
                               const std::stop_token& stop);
  Status Check(std::uint64_t offset, std::uint64_t length, const store::ReadReply& reply);
  void DropBehind(std::uint64_t position);

  const Context& context_;
  const store::Name name_;
  const ReaderOptions options_;
  std::optional<std::uint64_t> size_;
  std::string etag_;

  const std::shared_ptr<ObjectChunks> shared_;
  Row row_;                        // each begins inside or at the end of the one before
  std::uint64_t row_begin_ = 0;    // where the row starts when it is empty
  std::uint64_t next_length_ = 0;  // of the next chunk
  std::size_t chunks_ahead_ = 1;   // how many to keep in flight beyond the position
  std::uint64_t last_end_ = 0;     // where the last read ended
  bool sequential_ = false;
};

}  // namespace headrace::object
