#include "devserver/chunk_decoder.h"

#include <algorithm>

#include "base/macros.h"
#include "devserver/errors.h"
#include "devserver/text.h"

namespace headrace::devserver {
namespace {

constexpr std::size_t kMaxLine = 16 << 10;

Status Broken(std::string_view what) { return S3Error("InvalidRequest", what); }

}  // namespace

bool ChunkDecoder::TakeLine(std::string_view* in, Status* status) {
  std::size_t newline = in->find('\n');
  std::string_view piece = in->substr(0, newline);
  if (line_.size() + piece.size() > kMaxLine) {
    *status = Broken("A line of the chunked body is too long.");
    return false;
  }
  line_ += piece;
  if (newline == std::string_view::npos) {
    in->remove_prefix(in->size());
    return false;
  }
  in->remove_prefix(newline + 1);
  if (line_.empty() || line_.back() != '\r') {
    *status = Broken("A line of the chunked body does not end in CRLF.");
    return false;
  }
  line_.pop_back();
  return true;
}

Status ChunkDecoder::OnSizeLine() {
  std::size_t semicolon = line_.find(';');
  std::string_view digits = std::string_view(line_).substr(0, semicolon);
  extension_ = semicolon == std::string::npos ? "" : line_.substr(semicolon + 1);
  if (digits.empty() || digits.size() > 12) return Broken("A chunk's size is not a hex number.");
  left_ = 0;
  for (char c : digits) {
    std::size_t digit =
        std::string_view("0123456789abcdef").find(c >= 'A' && c <= 'F' ? c + 32 : c);
    if (digit == std::string_view::npos) return Broken("A chunk's size is not a hex number.");
    left_ = left_ * 16 + digit;
  }
  state_ = State::kData;
  if (left_ == 0) {
    RETURN_IF_ERROR(sink_.OnChunkEnd(extension_));
    state_ = State::kTrailer;
  }
  return Status();
}

Status ChunkDecoder::OnLine() {
  switch (state_) {
    case State::kSizeLine:
      return OnSizeLine();
    case State::kDataEnd:
      if (!line_.empty()) return Broken("A chunk is longer than its size says.");
      state_ = State::kSizeLine;
      return sink_.OnChunkEnd(extension_);
    case State::kTrailer: {
      if (line_.empty()) {
        state_ = State::kDone;
        return Status();
      }
      std::size_t colon = line_.find(':');
      if (colon == std::string::npos) return S3Error("MalformedTrailerError");
      return sink_.OnTrailer(ToLower(Trim(std::string_view(line_).substr(0, colon))),
                             Trim(std::string_view(line_).substr(colon + 1)));
    }
    default:
      return Status();
  }
}

Status ChunkDecoder::Feed(std::string_view* in) {
  while (!in->empty() && state_ != State::kDone) {
    if (state_ == State::kData) {
      std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in->size()));
      RETURN_IF_ERROR(sink_.OnChunkData(in->substr(0, n)));
      in->remove_prefix(n);
      left_ -= n;
      if (left_ == 0) state_ = State::kDataEnd;
      continue;
    }
    Status status;
    if (!TakeLine(in, &status)) {
      RETURN_IF_ERROR(status);
      break;
    }
    status = OnLine();
    line_.clear();
    RETURN_IF_ERROR(status);
  }
  return Status();
}

}  // namespace headrace::devserver
