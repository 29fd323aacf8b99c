// Puts one reply together from the answers of as many attempts as it takes: which answers belong to
// the version being read, where their bytes go, whether what came is whole.
//
// Pure: no socket, no clock. A body that broke off stays, and the next attempt's answer goes on
// behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/buffer_pool.h"
#include "net/http.h"
#include "s3/checksum.h"
#include "s3/request.h"

namespace headrace::s3 {

class ReplyBuilder {
 public:
  // Both outlive this.
  ReplyBuilder(const S3Request* request, BufferPool* buffers);

  // The head of a 2xx answer. kProtocol: it is no answer to what was asked; asking again may help.
  // Any other error stays.
  Status Accept(int status, const net::Headers& headers);
  // A 416 answer that told the object's size: nothing is there, or a body that broke off at its
  // very end. False when it is no answer to what was asked.
  bool AcceptNothingThere(int status, const net::Headers& headers, std::uint64_t object_size);
  // False when the bytes are more than is wanted; the transfer may stop.
  bool Append(std::span<const std::byte> bytes);
  // After the last byte. kChecksumMismatch, or kProtocol when bytes are missing.
  Status Verify() const;
  // Forgets all but the version.
  void Restart();
  S3Reply Take();

  // Of the version being read; "" until an answer tells.
  const std::string& etag() const { return etag_; }
  std::uint64_t received() const { return reply_.received; }
  bool cut_short() const { return reply_.cut_short; }
  // Since `before` bytes had been received: much of an object, or half of what was missing. A few
  // bytes per answer would otherwise go on for ever.
  bool Advanced(std::uint64_t before) const;
  // All that a range asked for is there.
  bool range_complete() const {
    return request_.range && reply_.received == request_.range->length;
  }
  std::uint64_t next_offset() const {
    return (request_.range ? request_.range->offset : 0) + reply_.received;
  }
  const net::Headers& headers() const { return reply_.headers; }
  std::string_view body() const { return buffer_.Slice(0, reply_.received).view(); }

 private:
  bool WantsEtag() const {
    return FactsOf(request_.operation).answer == OperationFacts::Answer::kEtag;
  }
  bool IsAnswer() const;
  Status NotFromS3(int status, const net::Headers& headers) const;
  Status AcceptObject(int status, const net::Headers& headers);
  void StartBody(std::optional<std::uint64_t> length);
  std::uint64_t MostBytes() const;
  void Grow(std::uint64_t size);

  const S3Request& request_;
  BufferPool& buffers_;
  S3Reply reply_;
  bool has_head_ = false;
  std::string etag_;
  Buffer buffer_;
  std::byte* target_ = nullptr;
  std::uint64_t capacity_ = 0;
  bool grows_ = false;  // no length was told
  Checksum stored_{ChecksumAlgorithm::kNone};
  Checksum running_{ChecksumAlgorithm::kNone};
};

}  // namespace headrace::s3
