// Writes one object as a stream: published by Close, and not at all otherwise.
//
// What ends at or below the multipart threshold goes as one PUT; where its length is not known
// beforehand, as long as the memory is there to keep it back. Beyond that it is a multipart upload
// whose parts are sent while the next is being filled, as many at once as the upload share of the
// budget holds. Part sizes:
//   length known:    part_size, or more when 10,000 parts of that would not reach
//   length unknown:  part_size for the first 1,000 parts, then growing by part_size every 1,000
//   parts,
//                    but no part above half of the upload share; where that ends, Write fails and
//                    says so
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "object/context.h"

namespace headrace::object {

class Writer {
 public:
  Writer(const Context* context, store::Name name, PutOptions options);
  // Aborts unless closed.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Status Write(std::span<const std::byte> bytes, const std::stop_token& stop);
  // For a source that fills memory itself: room for at least one byte, then how much of it was
  // filled.
  Result<std::span<std::byte>> Room(const std::stop_token& stop);
  void Filled(std::size_t bytes);

  // The new object's bare ETag. After an error nothing was published, as far as complete.h can
  // tell.
  Result<std::string> Close(const std::stop_token& stop);
  void Abort();
  std::uint64_t written() const { return written_; }
  // Bytes that the service acknowledged.
  std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  struct PartUnderWay {
    Pending<store::Part> pending;
    std::shared_ptr<Lease> lease;  // of the buffer, which may hold several parts
    std::uint64_t size = 0;
  };

  std::size_t PartSize(int number) const;
  std::size_t SinglePutLimit() const;
  std::size_t FirstBufferSize() const;
  Status Fail(Status status);
  Status EnsureBuffer(const std::stop_token& stop);
  bool GrowFirstBuffer();
  Status SendBuffer(const std::stop_token& stop);
  Status TakeOldestPart(const std::stop_token& stop);
  Result<std::string> CloseSingle(const std::stop_token& stop);
  Result<std::string> CloseMultipart(const std::stop_token& stop);

  const Context& context_;
  const store::Name name_;
  const PutOptions options_;
  const store::Capabilities capabilities_;
  Status failed_;  // the first error: the writer is dead from there on
  bool closed_ = false;

  Buffer buffer_;  // being filled
  Lease lease_;
  std::size_t filled_ = 0;
  std::optional<store::Upload> upload_;
  int next_part_ = 1;
  std::deque<PartUnderWay> under_way_;
  std::vector<store::Part> done_;
  std::uint64_t written_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace headrace::object
