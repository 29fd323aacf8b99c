// The sending half of Connection.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unistd.h>

#include "devserver/connection.h"
#include "devserver/errors.h"
#include "devserver/event_loop.h"

namespace headrace::devserver {
namespace {

constexpr std::uint64_t kMaxSend = 1 << 20;     // bytes of one system call
constexpr std::uint64_t kMaxPerTurn = 4 << 20;  // bytes before others have their turn
constexpr std::size_t kInlineBody = 64 << 10;   // sent in one piece with the head
// A body up to this size is sent in one piece when its last byte is due: the end of the response is
// timed right, and a small object costs one timer rather than several.
constexpr std::uint64_t kWholeBody = 256 << 10;

bool HasNoBody(std::string_view method, int status) {
  return method == "HEAD" || status == 204 || status == 304;
}

}  // namespace

// The operation is done (or refused): decides when the first byte goes out.
void Connection::ScheduleResponse() {
  shaping_ = Shaping();
  shaping_.bytes_per_second = context_.model.options().bytes_per_second;
  std::chrono::nanoseconds delay = context_.model.FirstByteDelay(x_.route.op);
  if (fault_ && !fault_->on_request) {
    if (!fault_->at && (fault_->kind == FaultKind::kReset || fault_->kind == FaultKind::kClose)) {
      if (fault_->kind == FaultKind::kReset) transport_->ResetOnClose();
      Close();
      return;
    }
    if (fault_->kind == FaultKind::kStall && !fault_->at) {
      delay += std::chrono::milliseconds(fault_->ms);
    }
    ApplyFaultToResponse();
  }
  const std::uint64_t size =
      HasNoBody(x_.head.method(), x_.response.status) ? 0 : x_.response.content_length;
  const double model_rate = context_.model.options().bytes_per_second;
  if (model_rate > 0 && shaping_.bytes_per_second == model_rate && size <= kWholeBody) {
    shaping_.bytes_per_second = 0;
    delay += std::chrono::nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(size) / model_rate * 1e9));
  }
  state_ = State::kDelay;
  wait_until_ = TimePoint();
  if (delay.count() > 0) {
    wait_until_ = loop_.now() + delay;
    loop_.SetTimer(*this, wait_until_);
  }
}

void Connection::ApplyFaultToResponse() {
  Response& response = x_.response;
  const std::uint64_t at = fault_->At(response.content_length);
  switch (fault_->kind) {
    case FaultKind::kStall:
      if (fault_->at) {
        shaping_.stall_at = at;
        shaping_.stall = std::chrono::milliseconds(fault_->ms);
      }
      break;
    case FaultKind::kReset:
    case FaultKind::kClose:
    case FaultKind::kTruncate:
      shaping_.stop_at = at;
      shaping_.reset = fault_->kind == FaultKind::kReset;
      break;
    case FaultKind::kCorrupt:
      shaping_.corrupt_at = at;
      break;
    case FaultKind::kDrip:
      shaping_.bytes_per_second = fault_->bytes_per_second;
      break;
    case FaultKind::kWrongLength:
      shaping_.hang_after = fault_->delta > 0;
      break;
    case FaultKind::kStatus:
      response.status = fault_->status;
      if (fault_->body) {
        response.body = *fault_->body;
        response.slices.clear();
        response.content_length = response.body.size();
      }
      for (const auto& [name, value] : fault_->headers) response.AddHeader(name, value);
      break;
  }
}

void Connection::BuildResponse() {
  Response& response = x_.response;
  const bool bare = HasNoBody(x_.head.method(), response.status);
  body_total_ = bare ? 0 : response.content_length;
  body_sent_ = 0;
  slice_ = 0;
  slice_sent_ = 0;
  out_sent_ = 0;
  body_began_ = loop_.now();

  out_.clear();
  out_.reserve(512 + response.headers.size());
  out_ += "HTTP/1.1 ";
  out_ += std::to_string(response.status);
  out_ += ' ';
  out_ += ReasonPhrase(response.status);
  out_ += "\r\nServer: headrace\r\nx-amz-request-id: ";
  out_ += x_.request_id;
  out_ += "\r\n";
  out_ += loop_.DateHeader();
  out_ += response.headers;
  if (response.status != 204 && response.status != 304) {
    std::int64_t declared = static_cast<std::int64_t>(response.content_length);
    if (fault_ && fault_->kind == FaultKind::kWrongLength) {
      declared = std::max<std::int64_t>(0, declared + fault_->delta);
    }
    out_ += "Content-Length: ";
    out_ += std::to_string(declared);
    out_ += "\r\n";
  }
  if (close_after_) out_ += "Connection: close\r\n";
  out_ += "\r\n";
  context_.counters.Responded(response.status);

  const bool shaped = fault_.has_value() || shaping_.bytes_per_second > 0;
  if (!shaped && response.slices.empty() && body_total_ <= kInlineBody) {
    out_.append(response.body, 0, body_total_);
    body_sent_ = body_total_;
    context_.counters.Sent(body_total_);
  }
  state_ = State::kWrite;
  wait_until_ = TimePoint();
}

Connection::Step Connection::DoWrite() {
  if (loop_.now() < wait_until_) return Step::kWait;
  if (out_sent_ < out_.size()) return WriteHead();
  return WriteBody();
}

Connection::Step Connection::WriteHead() {
  IoResult sent =
      transport_->Write(out_.data() + out_sent_, out_.size() - out_sent_, body_sent_ < body_total_);
  if (sent.state == IoState::kClosed) Close();
  if (sent.state != IoState::kOk) return Step::kWait;
  last_progress_ = loop_.now();
  out_sent_ += sent.bytes;
  return Step::kMore;
}

// How far the body may go now: to its end, a fault's byte, or what the rate allows.
std::uint64_t Connection::SendableUpTo() {
  std::uint64_t upto = body_total_;
  if (shaping_.stop_at) upto = std::min(upto, *shaping_.stop_at);
  if (shaping_.stall_at) upto = std::min(upto, *shaping_.stall_at);
  const double rate = shaping_.bytes_per_second;
  if (rate > 0 && body_sent_ < upto) {
    const double seconds = std::chrono::duration<double>(loop_.now() - body_began_).count();
    const double allowed = std::floor(rate * seconds);
    if (allowed < static_cast<double>(upto)) {
      // Wake when a sensible piece, or the rest, may go.
      double piece = std::min(static_cast<double>(upto - body_sent_), std::max(1.0, rate / 500));
      double due = (static_cast<double>(body_sent_) + piece) / rate;
      if (allowed < static_cast<double>(body_sent_) + 1) {
        wait_until_ =
            body_began_ + std::chrono::nanoseconds(static_cast<std::int64_t>(due * 1e9) + 1);
        loop_.SetTimer(*this, wait_until_);
        return body_sent_;
      }
      upto = static_cast<std::uint64_t>(allowed);
    }
  }
  return upto;
}

Connection::Step Connection::WriteBody() {
  for (std::uint64_t turn = 0; turn < kMaxPerTurn;) {
    if (body_sent_ == body_total_) return EndResponse();
    if (shaping_.stop_at == body_sent_) {
      StopEarly();
      return Step::kMore;
    }
    if (shaping_.stall_at == body_sent_) {
      wait_until_ = loop_.now() + shaping_.stall;
      body_began_ += shaping_.stall;
      shaping_.stall_at.reset();
      loop_.SetTimer(*this, wait_until_);
      return Step::kWait;
    }
    std::uint64_t upto = SendableUpTo();
    if (upto <= body_sent_) return Step::kWait;
    IoResult sent = SendBody(upto);
    if (sent.state == IoState::kClosed) Close();
    if (sent.state != IoState::kOk) return Step::kWait;
    last_progress_ = loop_.now();
    body_sent_ += sent.bytes;
    turn += sent.bytes;
    context_.counters.Sent(sent.bytes);
  }
  loop_.Defer(*this);
  return Step::kWait;
}

IoResult Connection::SendBody(std::uint64_t upto) {
  Response& response = x_.response;
  std::uint64_t size = std::min(upto - body_sent_, kMaxSend);
  const bool corrupt = shaping_.corrupt_at == body_sent_;
  if (corrupt) {
    size = 1;
  } else if (shaping_.corrupt_at && *shaping_.corrupt_at > body_sent_) {
    size = std::min(size, *shaping_.corrupt_at - body_sent_);
  }
  if (response.slices.empty()) {
    const char* data = response.body.data() + body_sent_;
    char flipped = static_cast<char>(*data ^ 1);
    return transport_->Write(corrupt ? &flipped : data, size, false);
  }
  const FileSlice& slice = response.slices[slice_];
  size = std::min(size, slice.size - slice_sent_);
  const std::uint64_t at = slice.offset + slice_sent_;
  IoResult sent;
  if (corrupt) {
    char byte = 0;
    if (pread(slice.file->fd(), &byte, 1, static_cast<off_t>(at)) != 1)
      return {IoState::kClosed, 0};
    byte = static_cast<char>(byte ^ 1);
    sent = transport_->Write(&byte, 1, false);
  } else {
    sent = transport_->WriteFile(slice.file->fd(), at, size);
  }
  slice_sent_ += sent.bytes;
  if (slice_sent_ == slice.size) {
    ++slice_;
    slice_sent_ = 0;
  }
  return sent;
}

void Connection::StopEarly() {
  if (shaping_.reset) {
    transport_->ResetOnClose();
    Close();
    return;
  }
  FinishRequest();
  transport_->ShutdownWrite();
  state_ = State::kLinger;
}

Connection::Step Connection::EndResponse() {
  // A fault at the very end of the body still breaks the connection.
  if (shaping_.stop_at == body_total_) {
    StopEarly();
    return Step::kMore;
  }
  if (shaping_.hang_after) {
    state_ = State::kHang;
    FinishRequest();
    return Step::kWait;
  }
  FinishRequest();
  if (close_after_) {
    transport_->ShutdownWrite();
    state_ = State::kLinger;
    return Step::kMore;
  }
  state_ = State::kReadHead;
  state_since_ = loop_.now();
  return Step::kMore;
}

void Connection::FinishRequest() {
  if (!in_request_) return;
  in_request_ = false;
  context_.counters.RequestDone(x_.route.op);
  x_.response.slices.clear();
  fault_.reset();
}

void Connection::Close() {
  FinishRequest();
  state_ = State::kClosed;
}

}  // namespace headrace::devserver
