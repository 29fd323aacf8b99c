#include "object/reader.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "base/macros.h"
#include "object/replaced.h"

namespace headrace::object {
namespace {

constexpr std::uint64_t kFirstChunk = std::uint64_t{256} << 10;
constexpr std::uint64_t kSmallRead = std::uint64_t{16} << 10;
// A seek over less than this reads the gap rather than starting anew.
constexpr std::uint64_t kSmallGap = std::uint64_t{256} << 10;
constexpr std::size_t kMostAhead = 32;

}  // namespace

Reader::Reader(const Context* context, store::Name name, ReaderOptions options)
    : context_(*context),
      name_(std::move(name)),
      options_(std::move(options)),
      size_(options_.size),
      etag_(options_.if_match),
      shared_(context_.chunks->Of(name_)),
      next_length_(kFirstChunk),
      sequential_(options_.sequential) {}

Result<std::uint64_t> Reader::Size(const std::stop_token& stop) {
  if (size_) return *size_;
  if (!row_.empty()) {
    const Result<std::uint64_t> received = Await(*row_.front(), stop);
    if (!received.ok()) {
      row_.clear();
      return received.status();
    }
    if (size_) return *size_;
  }
  ASSIGN_OR_RETURN(const ObjectInfo info, context_.store->Stat(name_).Wait(stop));
  if (etag_.empty()) etag_ = info.etag;
  if (etag_ != info.etag) return Replaced(name_);
  size_ = info.size;
  return *size_;
}

std::uint64_t Reader::RowEnd() const {
  return row_.empty() ? row_begin_ : row_.back()->offset + row_.back()->length;
}

void Reader::Seek(std::uint64_t offset, std::size_t wanted) {
  const bool on_row = !row_.empty() && offset >= row_.front()->offset &&
                      offset < RowEnd() + (sequential_ ? kSmallGap : 0);
  if (!on_row) {
    const bool follows = offset == last_end_;
    if (!follows && last_end_ != 0)
      sequential_ = false;  // the second place: random until it reads on
    if (follows) sequential_ = options_.sequential;
    Jump(offset, wanted);
  } else if (offset == last_end_) {
    sequential_ = options_.sequential;
  }
}

void Reader::Jump(std::uint64_t offset, std::size_t wanted) {
  row_.clear();
  row_begin_ = offset;
  // A small object is worth one request, whatever is asked of it.
  if (size_ && *size_ <= kFirstChunk) {
    row_begin_ = 0;
    next_length_ = *size_;
    return;
  }
  next_length_ = sequential_ ? std::max<std::uint64_t>(wanted, kFirstChunk)
                             : std::max<std::uint64_t>(wanted, kSmallRead);
  next_length_ = std::min<std::uint64_t>(next_length_, context_.options.part_size);
  chunks_ahead_ = sequential_ ? 1 : 0;
}

std::shared_ptr<Chunk> Reader::Send(Share share, std::uint64_t offset) const {
  auto chunk = std::make_shared<Chunk>();
  chunk->offset = offset;
  chunk->length = size_ ? std::min(next_length_, *size_ - offset) : next_length_;
  chunk->etag = etag_;
  std::optional<Lease> lease = context_.budget->TryAcquire(share, chunk->length);
  if (!lease) return nullptr;
  chunk->lease = std::move(*lease);
  chunk->data = context_.buffers->Allocate(chunk->length);
  chunk->pending = context_.store->Read({.name = name_,
                                         .range = store::ReadRequest::Range{offset, chunk->length},
                                         .etag = etag_,
                                         .into = {chunk->data.mutable_data(), chunk->length}});
  chunk->pending.OnReady(chunk->lease.Parker());
  return chunk;
}

bool Reader::Grow(Share share) {
  const std::uint64_t offset = RowEnd();
  if (size_ && offset >= *size_) return false;
  std::shared_ptr<Chunk> chunk = shared_->Get(offset, etag_, [&] { return Send(share, offset); });
  if (chunk == nullptr) return false;
  row_.push_back(std::move(chunk));
  if (sequential_)
    next_length_ = std::min<std::uint64_t>(next_length_ * 2, context_.options.part_size);
  return true;
}

void Reader::GrowTo(std::uint64_t end) {
  if (!size_) return;  // most of it may lie past the object's end
  while (RowEnd() < end && row_.size() < kMostAhead) {
    const std::uint64_t left = std::min<std::uint64_t>(end - RowEnd(), context_.options.part_size);
    next_length_ = std::max(next_length_, left);
    if (!Grow(Share::kReads)) return;
  }
}

void Reader::GrowAhead(std::uint64_t position) {
  // Until the first answer the size, and with it the version, is unknown: one request at a time.
  if (!size_ && !row_.empty() && !row_.front()->pending.ready()) return;
  std::size_t ahead = 0;
  for (const auto& chunk : row_) ahead += chunk->offset > position ? 1 : 0;
  while (ahead < chunks_ahead_) {
    if (!Grow(Share::kLookAhead)) return;
    ++ahead;
  }
}

Result<std::uint64_t> Reader::Await(Chunk& chunk, const std::stop_token& stop) {
  if (!chunk.pending.ready() && sequential_) {
    // The reader waits: more in flight would have helped.
    chunks_ahead_ = std::min(std::max<std::size_t>(chunks_ahead_ * 2, 1), kMostAhead);
  }
  if (chunk.pending.WaitReady(stop) != WaitEnd::kDone) {
    return Status(StatusCode::kCancelled, "stopped by the caller");
  }
  const Result<store::ReadReply>& reply = chunk.pending.value();
  if (!reply.ok()) return reply.status();
  RETURN_IF_ERROR(Check(chunk.offset, chunk.length, *reply));
  return reply->received;
}

Status Reader::Check(std::uint64_t offset, std::uint64_t length, const store::ReadReply& reply) {
  if (etag_.empty()) etag_ = reply.etag;
  if (!reply.etag.empty() && reply.etag != etag_) {
    return Replaced(name_);
  }
  size_ = reply.object_size;
  const std::uint64_t expected =
      std::min(length, reply.object_size - std::min(offset, reply.object_size));
  if (reply.received != expected) {
    return Status(StatusCode::kProtocol, fmt::format("{}: {} bytes at {} were asked for, {} came",
                                                     name_.key, expected, offset, reply.received));
  }
  return {};
}

// Without memory of ours: straight to where the bytes are wanted.
Result<std::size_t> Reader::ReadInto(std::uint64_t offset, std::span<std::byte> out,
                                     const std::stop_token& stop) {
  const std::uint64_t length = std::min<std::uint64_t>(out.size(), context_.options.part_size);
  ASSIGN_OR_RETURN(const store::ReadReply reply,
                   context_.store
                       ->Read({.name = name_,
                               .range = store::ReadRequest::Range{offset, length},
                               .etag = etag_,
                               .into = out.first(length)})
                       .Wait(stop));
  RETURN_IF_ERROR(Check(offset, length, reply));
  return reply.received;
}

Reader::Row::const_iterator Reader::ChunkAt(std::uint64_t position) const {
  return std::find_if(row_.begin(), row_.end(), [position](const std::shared_ptr<Chunk>& chunk) {
    return position < chunk->offset + chunk->length;
  });
}

void Reader::DropBehind(std::uint64_t position) {
  while (row_.size() > 1 && row_[1]->offset + row_[1]->length <= position) {
    row_.pop_front();
  }
}

Result<std::size_t> Reader::ReadAt(std::uint64_t offset, std::span<std::byte> out,
                                   const std::stop_token& stop) {
  if (out.empty() || (size_ && offset >= *size_)) return 0;
  Seek(offset, out.size());
  std::size_t copied = 0;
  while (copied < out.size()) {
    const std::uint64_t at = offset + copied;
    if (size_ && at >= *size_) break;
    if (ChunkAt(at) == row_.end()) {
      if (Grow(Share::kReads)) continue;
      if (!row_.empty()) {  // all of it lies behind
        row_begin_ = RowEnd();
        row_.clear();
        continue;
      }
      ASSIGN_OR_RETURN(const std::size_t n, ReadInto(at, out.subspan(copied), stop));
      if (n == 0) break;  // the end
      copied += n;
      row_begin_ = offset + copied;
      continue;
    }
    GrowTo(offset + out.size());
    GrowAhead(at);
    const std::shared_ptr<Chunk> chunk = *ChunkAt(at);
    const Result<std::uint64_t> received = Await(*chunk, stop);
    if (!received.ok()) {
      row_begin_ = offset;
      row_.clear();
      return received.status();
    }
    const std::uint64_t skip = at - chunk->offset;
    if (skip >= *received) break;  // the end
    const std::size_t n = std::min<std::uint64_t>(out.size() - copied, *received - skip);
    std::memcpy(out.data() + copied, chunk->data.data() + skip, n);
    copied += n;
    DropBehind(offset + copied);
    GrowAhead(offset + copied);
  }
  last_end_ = offset + copied;
  return copied;
}

void Reader::Prefetch(std::uint64_t offset) {
  if (!row_.empty() && offset >= row_.front()->offset && offset < RowEnd()) return;
  Jump(offset, 0);
  (void)Grow(Share::kLookAhead);
}

}  // namespace headrace::object
