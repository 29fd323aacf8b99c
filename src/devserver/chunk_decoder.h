// The chunk grammar that HTTP's Transfer-Encoding and S3's aws-chunked share:
//   HEX[;extension] CRLF data CRLF … 0[;extension] CRLF [name:value CRLF …] CRLF
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/status.h"

namespace headrace::devserver {

// Receives what a ChunkDecoder finds. An error stops the decoder for good.
class ChunkSink {
 public:
  virtual ~ChunkSink() = default;
  virtual Status OnChunkData(std::string_view data) = 0;
  // The chunk's data is complete, `extension` is what followed its size ("" without one). Also
  // called for the last, empty chunk.
  virtual Status OnChunkEnd(std::string_view extension) = 0;
  virtual Status OnTrailer(std::string_view name, std::string_view value) = 0;
};

// An incremental decoder: bytes may arrive in any pieces. Not thread-safe.
class ChunkDecoder {
 public:
  explicit ChunkDecoder(ChunkSink& sink) : sink_(sink) {}

  // Consumes from the front of `*in` until it is empty or the body is complete; what follows a
  // complete body stays in `*in`. Errors: InvalidRequest for broken framing, or the sink's own.
  Status Feed(std::string_view* in);
  bool done() const { return state_ == State::kDone; }

 private:
  enum class State : std::uint8_t { kSizeLine, kData, kDataEnd, kTrailer, kDone };
  bool TakeLine(std::string_view* in, Status* status);
  Status OnLine();
  Status OnSizeLine();

  ChunkSink& sink_;
  State state_ = State::kSizeLine;
  std::string line_;  // the line being collected, without CRLF once whole
  std::string extension_;
  std::uint64_t left_ = 0;
};

}  // namespace headrace::devserver
