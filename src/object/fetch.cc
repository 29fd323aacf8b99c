#include "object/fetch.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "base/macros.h"
#include "object/replaced.h"
#include "object/verify.h"

namespace headrace::object {
namespace {

// Of an object in several parts, whose bytes do not match its checksum: only the whole can be
// compared, so all of it is fetched again.
constexpr int kMostRefetches = 1;

}  // namespace

Fetch::Fetch(const Context* context, FetchItem item, std::uint64_t expected)
    : context_(*context), item_(std::move(item)), expected_(expected) {
  const GetOptions& options = item_.options;
  size_ = options.size;
  if (options.range) begin_ = options.range->offset;
  if (options.range) wanted_ = options.range->length;
  if (options.size) {
    length_ = std::min(wanted_, *options.size - std::min(begin_, *options.size));
  } else if (wanted_ <= context_.options.part_size) {
    // An upper bound; the answer says how much of it there is. A larger one is not believed.
    length_ = wanted_;
  }
  whole_ = !options.range && (!length_ || *length_ <= context_.options.part_size);
}

std::size_t Fetch::bytes_needed() const { return length_.value_or(expected_); }

void Fetch::Start(Lease lease, CompletionQueue<std::size_t>* done, std::size_t tag) {
  lease_ = std::move(lease);
  done_ = done;
  tag_ = tag;
  fetched_.etag = item_.options.if_match;
  if (whole_) {
    store::ReadRequest request{.name = item_.name, .etag = item_.options.if_match};
    request.keep_at_most = std::min<std::uint64_t>(bytes_needed(), context_.options.part_size);
    pieces_.push_back({.pending = context_.store->Read(std::move(request))});
    pieces_left_ = 1;
    done_->Watch(pieces_.back().pending, tag_, lease_.Parker());
    return;
  }
  if (!length_) {  // a range to the end of an object of unknown size: the first part tells the size
    const std::uint64_t first = std::min<std::uint64_t>(expected_, context_.options.part_size);
    fetched_.data = context_.buffers->Allocate(first);
    Send(0, first, lease_.Parker());
    return;
  }
  fetched_.data = context_.buffers->Allocate(*length_);
  if (*length_ == 0) {
    fetched_.object_size = item_.options.size.value_or(0);
    result_ = std::move(fetched_);
    auto nothing = Pending<store::ReadReply>::Ready(store::ReadReply{});
    done_->Watch(nothing, tag_);
    return;
  }
  SendPieces(0);
}

void Fetch::Send(std::uint64_t offset, std::uint64_t length, const std::function<void()>& arrived) {
  store::ReadRequest request{.name = item_.name,
                             .range = store::ReadRequest::Range{begin_ + offset, length},
                             .etag = fetched_.etag,
                             .into = {fetched_.data.mutable_data() + offset, length}};
  pieces_.push_back({context_.store->Read(std::move(request)), offset, length});
  ++pieces_left_;
  done_->Watch(pieces_.back().pending, tag_, arrived);
}

void Fetch::SendPieces(std::uint64_t from) {
  // Pieces of one size, so that the last is not a crumb.
  const std::uint64_t left = *length_ - from;
  const std::uint64_t count = (left + context_.options.part_size - 1) / context_.options.part_size;
  pieces_.reserve(pieces_.size() + count);
  lease_.SetParked(false);  // it may be that of the first part, which has come
  const std::function<void()> arrived = lease_.Parker(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t begin = from + left * i / count;
    const std::uint64_t end = from + left * (i + 1) / count;
    Send(begin, end - begin, arrived);
  }
}

void Fetch::Fail(Status status) {
  pieces_.clear();  // cancels, and waits until nothing is written into the buffer any more
  pieces_left_ = 0;
  fetched_ = {};
  result_ = std::move(status);
}

Fetch::Step Fetch::Advance() {
  if (result_) return Step::kDone;
  for (std::size_t i = 0; i < pieces_.size() && !result_; ++i) {
    Piece& piece = pieces_[i];
    if (!piece.pending.valid() || !piece.pending.ready()) continue;
    Result<store::ReadReply> reply = piece.pending.Take();
    --pieces_left_;
    Status status = reply.status();
    if (status.ok() && std::exchange(whole_, false)) {
      status = TakeWhole(std::move(*reply));
    } else if (status.ok()) {
      status = TakePiece(piece, *reply);
    }
    if (!status.ok()) Fail(std::move(status));
  }
  if (result_) return Step::kDone;
  if (outgrown_ && pieces_left_ == 0) {
    if (lease_.bytes() < *length_) return Step::kOutgrown;
    Resume(std::move(lease_));
  }
  if (pieces_left_ > 0) return Step::kUnderWay;
  result_ = std::move(fetched_);
  return Step::kDone;
}

void Fetch::Resume(Lease lease) {
  outgrown_ = false;
  const std::uint64_t have = fetched_.data.size();
  Buffer all = context_.buffers->Allocate(*length_);
  std::memcpy(all.mutable_data(), fetched_.data.data(), have);
  fetched_.data = std::move(all);
  lease_ = std::move(lease);
  SendPieces(have);
}

FetchItem Fetch::OutgrownItem() const {
  FetchItem item = item_;
  item.options.size = fetched_.object_size;
  item.options.if_match = fetched_.etag;
  return item;
}

Status Fetch::TakeWhole(store::ReadReply reply) {
  fetched_.etag = reply.etag;
  fetched_.object_size = reply.object_size;
  if (length_ && *length_ != reply.object_size) {
    return Status(StatusCode::kObjectChanged,
                  fmt::format("{} has {} bytes, not the {} that were listed: it was replaced; list "
                              "again to read the new version",
                              item_.name.key, reply.object_size, *length_));
  }
  outgrown_ = size_unsure_ = reply.received < reply.object_size;
  fetched_.verified = reply.verified;
  size_ = length_ = reply.object_size;
  fetched_.data = std::move(reply.data);
  return {};
}

Status Fetch::TakePiece(const Piece& piece, const store::ReadReply& reply) {
  if (fetched_.etag.empty()) fetched_.etag = reply.etag;
  // An answer that there is nothing in the range has no ETag; the size gives the other version
  // away.
  const bool other_size =
      !std::exchange(size_unsure_, false) && reply.object_size != size_.value_or(reply.object_size);
  if ((!reply.etag.empty() && reply.etag != fetched_.etag) || other_size)
    return Replaced(item_.name);
  size_ = fetched_.object_size = reply.object_size;
  const std::uint64_t available =
      std::min(wanted_, reply.object_size - std::min(begin_, reply.object_size));
  const std::uint64_t expected =
      std::min(piece.length, available - std::min(piece.offset, available));
  if (reply.received != expected) {
    return Status(StatusCode::kProtocol,
                  fmt::format("{}: {} bytes at {} were asked for, {} came", item_.name.key,
                              expected, begin_ + piece.offset, reply.received));
  }
  length_ = available;
  outgrown_ = fetched_.data.size() < available;
  if (available < fetched_.data.size()) fetched_.data = fetched_.data.Slice(0, available);
  return {};
}

Result<Fetched> Fetch::Take() {
  pieces_.clear();
  lease_.Release();
  return std::move(*result_);
}

namespace {

Status Verify(const Context& context, const store::Name& name, const Fetched& fetched,
              const std::stop_token& stop) {
  ASSIGN_OR_RETURN(Verifier verifier, Verifier::Ask(context, name, fetched.etag, stop));
  verifier.Extend(fetched.data.span());
  return verifier.Finish();
}

Result<Fetched> FetchOnce(const Context& context, FetchItem item, const std::stop_token& stop) {
  std::optional<Fetch> fetch;
  CompletionQueue<std::size_t> done;
  while (true) {
    fetch.emplace(&context, item, context.options.part_size);
    ASSIGN_OR_RETURN(Lease lease,
                     context.budget->Acquire(Share::kReads, fetch->bytes_needed(), stop));
    fetch->Start(std::move(lease), &done, 0);
    bool short_of_memory = false;
    while (!short_of_memory) {
      if (!done.Next(stop)) return Status(StatusCode::kCancelled, "stopped by the caller");
      const Fetch::Step step = fetch->Advance();
      if (step == Fetch::Step::kDone) return fetch->Take();
      if (step == Fetch::Step::kUnderWay) continue;
      if (auto more = context.budget->TryAcquire(Share::kReads, fetch->bytes_needed())) {
        fetch->Resume(std::move(*more));
      } else {
        // Memory is waited for with none in hand (base/budget.h).
        item = fetch->OutgrownItem();
        short_of_memory = true;
      }
    }
    fetch.reset();
  }
}

}  // namespace

Result<Fetched> FetchNow(const Context& context, FetchItem item, const std::stop_token& stop) {
  RETURN_IF_ERROR(CheckVerify(item.options));
  for (int again = kMostRefetches;; --again) {
    ASSIGN_OR_RETURN(Fetched fetched, FetchOnce(context, item, stop));
    if (!item.options.verify || fetched.verified) return fetched;
    const Status status = Verify(context, item.name, fetched, stop);
    if (status.ok()) return fetched;
    if (status.code() != StatusCode::kChecksumMismatch || again == 0) return status;
  }
}

}  // namespace headrace::object
