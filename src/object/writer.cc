#include "object/writer.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "base/macros.h"
#include "object/complete.h"

namespace headrace::object {
namespace {

constexpr int kPartsPerStep = 1000;

}  // namespace

Writer::Writer(const Context* context, store::Name name, PutOptions options)
    : context_(*context),
      name_(std::move(name)),
      options_(std::move(options)),
      capabilities_(context->store->capabilities()) {}

Writer::~Writer() {
  if (!closed_) Abort();
}

std::size_t Writer::PartSize(int number) const {
  std::uint64_t size =
      std::max<std::uint64_t>(context_.options.part_size, capabilities_.min_part_size);
  if (options_.expected_size) {
    const auto parts = static_cast<std::uint64_t>(capabilities_.max_parts);
    size = std::max(size, (*options_.expected_size + parts - 1) / parts);
    return std::min(size, capabilities_.max_part_size);
  }
  size *= static_cast<std::uint64_t>(1 + (number - 1) / kPartsPerStep);
  const std::uint64_t most = std::max<std::uint64_t>(context_.budget->limit(Share::kUploads) / 2,
                                                     capabilities_.min_part_size);
  return std::min({size, std::max<std::uint64_t>(most, context_.options.part_size),
                   capabilities_.max_part_size});
}

std::size_t Writer::SinglePutLimit() const {
  return std::max(context_.options.multipart_threshold, PartSize(1));
}

std::size_t Writer::FirstBufferSize() const {
  if (options_.expected_size && *options_.expected_size <= SinglePutLimit()) {
    return std::max<std::size_t>(*options_.expected_size, 1);
  }
  return PartSize(1);
}

Status Writer::Fail(Status status) {
  failed_ = status;
  Abort();
  return status;
}

Status Writer::EnsureBuffer(const std::stop_token& stop) {
  if (!failed_.ok()) return failed_;
  if (closed_) return Status(StatusCode::kInvalidArgument, "the writer is closed");
  if (!buffer_.empty()) return {};
  const bool first = next_part_ == 1;
  if (next_part_ > capabilities_.max_parts) {
    return Fail(Status(
        StatusCode::kUnsupported,
        fmt::format(
            "{}: after {} bytes the {} parts that the service allows are used up; give the "
            "stream's length (expected_size), or raise memory_limit so that parts can grow further",
            name_.key, written_, capabilities_.max_parts)));
  }
  const std::size_t size = first ? FirstBufferSize() : PartSize(next_part_);
  // Wait for memory only while holding none: else make room by taking in what is under way.
  while (true) {
    std::optional<Lease> lease = context_.budget->TryAcquire(Share::kUploads, size);
    if (lease) {
      lease_ = std::move(*lease);
      break;
    }
    if (under_way_.empty()) {
      Result<Lease> waited = context_.budget->Acquire(Share::kUploads, size, stop);
      if (!waited.ok()) return Fail(waited.status());
      lease_ = std::move(*waited);
      break;
    }
    if (Status status = TakeOldestPart(stop); !status.ok()) return Fail(std::move(status));
  }
  lease_.SetParked(true);  // until the caller has filled it
  buffer_ = context_.buffers->Allocate(size);
  filled_ = 0;
  return {};
}

// Until the threshold is passed a stream may yet be one PUT, so it stays in one buffer, provided
// that there is memory for a larger one.
bool Writer::GrowFirstBuffer() {
  const std::size_t size = std::min(2 * buffer_.size(), SinglePutLimit());
  if (next_part_ > 1 || options_.expected_size || size <= buffer_.size()) return false;
  std::optional<Lease> lease = context_.budget->TryAcquire(Share::kUploads, size);
  if (!lease) return false;
  Buffer larger = context_.buffers->Allocate(size);
  std::memcpy(larger.mutable_data(), buffer_.data(), filled_);
  buffer_ = std::move(larger);
  lease_ = std::move(*lease);
  lease_.SetParked(true);
  return true;
}

Result<std::span<std::byte>> Writer::Room(const std::stop_token& stop) {
  const bool full = !buffer_.empty() && filled_ == buffer_.size();
  if (full && !GrowFirstBuffer()) RETURN_IF_ERROR(SendBuffer(stop));
  RETURN_IF_ERROR(EnsureBuffer(stop));
  return std::span<std::byte>(buffer_.mutable_data() + filled_, buffer_.size() - filled_);
}

void Writer::Filled(std::size_t bytes) {
  filled_ += bytes;
  written_ += bytes;
}

Status Writer::Write(std::span<const std::byte> bytes, const std::stop_token& stop) {
  if (bytes.empty()) return failed_;
  while (!bytes.empty()) {
    ASSIGN_OR_RETURN(const std::span<std::byte> room, Room(stop));
    const std::size_t n = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), n);
    Filled(n);
    bytes = bytes.subspan(n);
  }
  return {};
}

// One part as a rule; the first buffer may have grown to several.
Status Writer::SendBuffer(const std::stop_token& stop) {
  if (!upload_) {
    Result<store::Upload> upload = context_.store->CreateUpload(name_, options_).Wait(stop);
    if (!upload.ok()) return Fail(upload.status());
    upload_ = std::move(*upload);
  }
  // What is done already frees memory for the next part.
  while (!under_way_.empty() && under_way_.front().pending.ready()) {
    if (Status status = TakeOldestPart(stop); !status.ok()) return Fail(std::move(status));
  }
  lease_.SetParked(false);
  const auto lease = std::make_shared<Lease>(std::move(lease_));
  const std::size_t before = under_way_.size();
  for (std::size_t at = 0; at < filled_; ++next_part_) {
    // What is left over joins the last: more may follow, and then a short part is refused.
    const std::size_t part = PartSize(next_part_);
    const std::size_t size = filled_ - at < 2 * part ? filled_ - at : part;
    under_way_.push_back(
        {.pending = context_.store->UploadPart(*upload_, next_part_, buffer_.Slice(at, size)),
         .lease = lease,
         .size = size});
    at += size;
  }
  const std::function<void()> park = lease->Parker(under_way_.size() - before);
  for (std::size_t i = before; i < under_way_.size(); ++i) under_way_[i].pending.OnReady(park);
  buffer_ = {};
  filled_ = 0;
  return {};
}

Status Writer::TakeOldestPart(const std::stop_token& stop) {
  Result<store::Part> part = under_way_.front().pending.Wait(stop);
  RETURN_IF_ERROR(part.status());
  acknowledged_ += under_way_.front().size;
  under_way_.pop_front();
  done_.push_back(std::move(*part));
  return {};
}

Result<std::string> Writer::Close(const std::stop_token& stop) {
  if (!failed_.ok()) return failed_;
  if (closed_) return Status(StatusCode::kInvalidArgument, "the writer is closed already");
  if (options_.expected_size && *options_.expected_size < written_) {
    return Fail(Status(StatusCode::kInvalidArgument,
                       fmt::format("{}: {} bytes were written, expected_size said {}", name_.key,
                                   written_, *options_.expected_size)));
  }
  lease_.SetParked(false);
  Result<std::string> etag = upload_ ? CloseMultipart(stop) : CloseSingle(stop);
  if (!etag.ok()) return Fail(etag.status());
  closed_ = true;
  acknowledged_ = written_;
  buffer_ = {};
  lease_.Release();
  return etag;
}

Result<std::string> Writer::CloseSingle(const std::stop_token& stop) {
  return PutWhole(context_, name_, buffer_.Slice(0, filled_), options_, stop);
}

Result<std::string> Writer::CloseMultipart(const std::stop_token& stop) {
  if (filled_ > 0) RETURN_IF_ERROR(SendBuffer(stop));
  while (!under_way_.empty()) RETURN_IF_ERROR(TakeOldestPart(stop));
  ASSIGN_OR_RETURN(std::string etag,
                   object::CompleteUpload(context_, *upload_, done_, written_, stop));
  upload_.reset();
  return etag;
}

void Writer::Abort() {
  buffer_ = {};
  lease_.Release();
  under_way_.clear();  // cancels what is being sent
  if (upload_) {
    // Waited for, with a limit of its own: an upload left behind costs its owner money.
    (void)context_.store->AbortUpload(*upload_).Wait({}, Deadline::After(std::chrono::seconds(10)));
    upload_.reset();
  }
  if (failed_.ok()) failed_ = Status(StatusCode::kInvalidArgument, "the writer was aborted");
  closed_ = true;
}

}  // namespace headrace::object
