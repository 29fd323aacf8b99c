#include "devserver/connection.h"

#include <algorithm>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "devserver/errors.h"
#include "devserver/event_loop.h"

namespace headrace::devserver {
namespace {

constexpr std::size_t kHeadRead = 16 << 10;
constexpr std::string_view kTlsHandshake = "\x16\x03";
constexpr double kBurstBytes = 64 << 10;  // what a paced body may be ahead of its rate

bool IsLoopback(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (address.ss_family == AF_INET) {
    return (ntohl(reinterpret_cast<sockaddr_in*>(&address)->sin_addr.s_addr) >> 24) == 127;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr);
}

}  // namespace

Connection::Connection(EventLoop& loop, ServerContext& context,
                       std::unique_ptr<Transport> transport, std::uint64_t id)
    : loop_(loop),
      context_(context),
      transport_(std::move(transport)),
      id_(id),
      state_(context.tls != nullptr ? State::kHandshake : State::kReadHead),
      last_progress_(loop.now()),
      state_since_(loop.now()) {
  x_.from_loopback = IsLoopback(transport_->fd());
  context_.counters.Opened();
}

Connection::~Connection() {
  FinishRequest();
  context_.counters.Closed();
}

void Connection::OnEvents(std::uint32_t events) {
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
    Close();
    return;
  }
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) readable_ = true;
  if ((events & EPOLLRDHUP) != 0) peer_done_ = true;
  Drive();
}

void Connection::Drive() {
  while (true) {
    Step step = Step::kWait;
    switch (state_) {
      case State::kHandshake:
        step = DoHandshake();
        break;
      case State::kReadHead:
        step = DoReadHead();
        break;
      case State::kReadBody:
        step = DoReadBody();
        break;
      case State::kDelay:
        if (loop_.now() >= wait_until_) {
          BuildResponse();
          step = Step::kMore;
        }
        break;
      case State::kWrite:
        step = DoWrite();
        break;
      case State::kLinger: {
        std::string_view ignored;
        IoState got = ReadMore(EventLoop::kScratchBytes, &ignored);
        if (got == IoState::kClosed) Close();
        if (got == IoState::kOk) step = Step::kMore;
        break;
      }
      case State::kHang:
      case State::kClosed:
        break;
    }
    if (step == Step::kWait) return;
  }
}

void Connection::CloseIfOverdue() {
  auto quiet = loop_.now() - last_progress_;
  switch (state_) {
    case State::kReadHead:
      // Between requests a connection may idle; a head once begun must come whole in time.
      if (in_.empty() ? quiet > context_.idle_timeout
                      : loop_.now() - state_since_ > context_.request_timeout) {
        Close();
      }
      break;
    case State::kHandshake:
    case State::kReadBody:
      if (quiet > context_.request_timeout && loop_.now() >= wait_until_) Close();
      break;
    case State::kLinger:
      if (quiet > std::chrono::seconds(2)) Close();
      break;
    case State::kWrite:  // megabytes may stand in the kernel's buffers before a slow reader
    case State::kHang:
      if (quiet > context_.idle_timeout) Close();
      break;
    case State::kDelay:
    case State::kClosed:
      break;
  }
}

IoState Connection::ReadMore(std::size_t limit, std::string_view* bytes) {
  if (!readable_) return IoState::kAgain;
  IoResult got = transport_->Read(loop_.scratch(), limit);
  if (got.state == IoState::kAgain) readable_ = false;
  if (got.state != IoState::kOk) return got.state;
  // TLS may hold more decrypted bytes than were asked for: only an explicit "again" drains it.
  if (got.bytes < limit && !peer_done_ && context_.tls == nullptr) readable_ = false;
  last_progress_ = loop_.now();
  *bytes = {loop_.scratch(), got.bytes};
  return IoState::kOk;
}

Connection::Step Connection::DoHandshake() {
  IoState state = transport_->Handshake();
  if (state == IoState::kClosed) Close();
  if (state == IoState::kAgain) readable_ = false;
  if (state != IoState::kOk) return Step::kWait;
  readable_ = true;  // application data may have come with the last flight
  state_ = State::kReadHead;
  return Step::kMore;
}

Connection::Step Connection::DoReadHead() {
  // Empty lines in front of a request are allowed and mean nothing.
  while (in_.starts_with("\r\n")) in_.erase(0, 2);
  if (in_.starts_with(kTlsHandshake)) {  // whoever speaks TLS here would wait for an answer
    Close();
    return Step::kWait;
  }
  std::size_t from = scanned_ < 3 ? 0 : scanned_ - 3;
  std::size_t end = in_.find("\r\n\r\n", from);
  if (std::min(end, in_.size()) > kMaxHeadBytes) {
    RejectHead(S3Error("RequestHeaderSectionTooLarge"));
    return Step::kMore;
  }
  if (end == std::string::npos) {
    scanned_ = in_.size();
    std::string_view bytes;
    IoState got = ReadMore(kHeadRead, &bytes);
    if (got == IoState::kClosed) Close();
    if (got != IoState::kOk) return Step::kWait;
    if (in_.empty()) state_since_ = loop_.now();
    in_ += bytes;
    return Step::kMore;
  }
  scanned_ = 0;
  Status parsed = x_.head.Parse(std::string_view(in_).substr(0, end + 4));
  if (!parsed.ok()) {
    RejectHead(parsed);
    return Step::kMore;
  }
  in_.erase(0, end + 4);
  StartRequest();
  return Step::kMore;
}

void Connection::RejectHead(const Status& error) {
  in_.clear();
  x_.Reset();
  x_.request_id = loop_.NextRequestId();
  fault_.reset();
  if (!in_request_) context_.counters.Request(x_.route.op);
  in_request_ = true;
  context_.service.Fail(x_, error);
  close_after_ = true;
  ScheduleResponse();
}

void Connection::StartRequest() {
  x_.Reset();
  x_.request_id = loop_.NextRequestId();
  close_after_ = !x_.head.keep_alive();
  Status begun = context_.service.Begin(x_);
  context_.counters.Request(x_.route.op);
  in_request_ = true;
  execute_ = begun.ok();
  fault_ = context_.faults.Match(x_.route.op, x_.route.bucket, x_.route.key);
  if (fault_) ApplyFaultToRequest();
  if (execute_ && !context_.model.Admit(x_.route.op, x_.route.bucket, x_.route.key, loop_.now())) {
    context_.counters.Throttled();
    context_.service.Fail(x_, S3Error("SlowDown"));
    execute_ = false;
  }
  if (!execute_) x_.payload.reset();

  body_received_ = 0;
  body_started_ = loop_.now();
  wait_until_ = TimePoint();
  body_left_ = x_.head.content_length().value_or(0);
  chunks_.reset(x_.head.chunked() ? new ChunkDecoder(*this) : nullptr);
  state_ = State::kReadBody;
  if (x_.head.expects_continue() && in_.empty()) {
    if (execute_) {
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      transport_->Write(kContinue.data(), kContinue.size(), false);
    } else if (!fault_ || !fault_->on_request) {
      // The client was told before it sent anything; what it does next is unknown, so close.
      close_after_ = true;
      ScheduleResponse();
    }
  }
}

void Connection::ApplyFaultToRequest() {
  context_.counters.Fault();
  if (fault_->execute) return;
  execute_ = false;
  if (fault_->kind != FaultKind::kStatus) return;
  Status error = S3Error(fault_->code, fault_->message);
  ErrorInfo info = error.info();
  info.http_status = fault_->status;
  context_.service.Fail(x_, error.WithInfo(std::move(info)));
}

Connection::Step Connection::DoReadBody() {
  if (loop_.now() < wait_until_) return Step::kWait;
  if (StrikesInBody()) return state_ == State::kReadBody ? Step::kWait : Step::kMore;
  if (body_left_ == 0 && (chunks_ == nullptr || chunks_->done())) {
    EndBody();
    return Step::kMore;
  }
  if (PacesBody()) return Step::kWait;
  if (!in_.empty()) {
    std::string pending;
    pending.swap(in_);
    std::string_view bytes = pending;
    Status status = TakeBody(&bytes);
    in_.assign(bytes);
    if (!status.ok()) RejectHead(status);
    return Step::kMore;
  }
  std::size_t limit = EventLoop::kScratchBytes;
  if (chunks_ == nullptr)
    limit = static_cast<std::size_t>(std::min<std::uint64_t>(limit, body_left_));
  std::string_view bytes;
  IoState got = ReadMore(limit, &bytes);
  if (got == IoState::kClosed) Close();
  if (got != IoState::kOk) return Step::kWait;
  Status status = TakeBody(&bytes);
  if (!status.ok()) {
    RejectHead(status);
    return Step::kMore;
  }
  in_.assign(bytes);
  return Step::kMore;
}

Status Connection::TakeBody(std::string_view* bytes) {
  if (chunks_ != nullptr) return chunks_->Feed(bytes);
  std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(body_left_, bytes->size()));
  OnBodyBytes(bytes->substr(0, n));
  body_left_ -= n;
  bytes->remove_prefix(n);
  return Status();
}

void Connection::OnBodyBytes(std::string_view bytes) {
  body_received_ += bytes.size();
  context_.counters.Received(bytes.size());
  if (x_.payload != nullptr) x_.payload->Write(bytes);
}

// Whether the model or a drip holds the body back for now.
bool Connection::PacesBody() {
  double rate = context_.model.options().bytes_per_second;
  double burst = kBurstBytes;
  if (fault_ && fault_->on_request && fault_->kind == FaultKind::kDrip) {
    rate = fault_->bytes_per_second;
    burst = 0;
  }
  if (rate <= 0) return false;
  double ahead = static_cast<double>(body_received_) - burst;
  auto due =
      body_started_ + std::chrono::nanoseconds(static_cast<std::int64_t>(ahead / rate * 1e9));
  if (ahead <= 0 || due <= loop_.now()) return false;
  wait_until_ = due;
  loop_.SetTimer(*this, due);
  return true;
}

// Whether a fault on the request's body strikes here; the state then says how to go on.
bool Connection::StrikesInBody() {
  if (!fault_ || !fault_->on_request) return false;
  if (fault_->kind == FaultKind::kDrip) return false;
  if (body_received_ < fault_->At(body_received_ + body_left_)) return false;
  if (fault_->kind == FaultKind::kStall) {
    wait_until_ = loop_.now() + std::chrono::milliseconds(fault_->ms);
    // From here on the stall is a plain delay of the body.
    fault_.reset();
    body_started_ = wait_until_;
    loop_.SetTimer(*this, wait_until_);
    return true;
  }
  if (fault_->kind == FaultKind::kReset) transport_->ResetOnClose();
  Close();
  return true;
}

void Connection::EndBody() {
  if (execute_) context_.service.Finish(x_);
  x_.payload.reset();
  ScheduleResponse();
}

Status Connection::OnChunkData(std::string_view data) {
  OnBodyBytes(data);
  return Status();
}
Status Connection::OnChunkEnd(std::string_view /*extension*/) { return Status(); }
Status Connection::OnTrailer(std::string_view /*name*/, std::string_view /*value*/) {
  return Status();
}

}  // namespace headrace::devserver
