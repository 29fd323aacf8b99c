// One client connection: reads requests, runs them, sends the responses as the model and the fault
// rules want them sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "devserver/chunk_decoder.h"
#include "devserver/context.h"
#include "devserver/faults.h"
#include "devserver/service.h"
#include "devserver/transport.h"

namespace headrace::devserver {

class EventLoop;

// Belongs to its loop's thread. One request is in progress at a time; pipelined ones wait in `in_`.
class Connection final : private ChunkSink {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Connection(EventLoop& loop, ServerContext& context, std::unique_ptr<Transport> transport,
             std::uint64_t id);
  ~Connection() override;

  void OnEvents(std::uint32_t events);
  void Drive();           // does all that can be done now
  void CloseIfOverdue();  // called now and then
  bool closed() const { return state_ == State::kClosed; }
  std::uint64_t id() const { return id_; }
  std::uint64_t timer() const { return timer_; }
  std::uint64_t NextTimer() { return ++timer_; }

 private:
  enum class State : std::uint8_t {
    kHandshake,
    kReadHead,
    kReadBody,
    kDelay,  // the response is ready, its first byte is not due yet
    kWrite,
    kLinger,  // sent all, waits for the peer to close so that nothing sent is lost
    kHang,    // a fault: nothing more will come
    kClosed
  };
  // How the response is sent when it is not simply sent.
  struct Shaping {
    double bytes_per_second = 0;
    std::optional<std::uint64_t> stall_at;  // byte of the body; once
    std::chrono::milliseconds stall{0};
    std::optional<std::uint64_t> stop_at;
    bool reset = false;  // at stop_at: RST rather than FIN
    std::optional<std::uint64_t> corrupt_at;
    bool hang_after = false;
  };
  enum class Step : std::uint8_t { kMore, kWait };

  // Reading (connection.cc). Each does one step of its state.
  Step DoHandshake();
  Step DoReadHead();
  Step DoReadBody();
  void StartRequest();
  void ApplyFaultToRequest();
  Status TakeBody(std::string_view* bytes);
  void OnBodyBytes(std::string_view bytes);
  bool PacesBody();
  bool StrikesInBody();
  void EndBody();
  void RejectHead(const Status& error);
  IoState ReadMore(std::size_t limit, std::string_view* bytes);
  Status OnChunkData(std::string_view data) override;
  Status OnChunkEnd(std::string_view extension) override;
  Status OnTrailer(std::string_view name, std::string_view value) override;

  // Writing (connection_write.cc).
  void ScheduleResponse();
  void ApplyFaultToResponse();
  void BuildResponse();
  Step DoWrite();
  Step WriteHead();
  Step WriteBody();
  std::uint64_t SendableUpTo();
  IoResult SendBody(std::uint64_t upto);
  Step EndResponse();
  void StopEarly();
  void FinishRequest();
  void Close();

  EventLoop& loop_;
  ServerContext& context_;
  const std::unique_ptr<Transport> transport_;
  const std::uint64_t id_;
  std::uint64_t timer_ = 0;
  State state_;
  bool readable_ = false;
  bool peer_done_ = false;  // its FIN has come, so a short read does not mean "drained"
  TimePoint last_progress_;
  TimePoint state_since_;  // of a head being read
  TimePoint wait_until_;   // kDelay; a paced body; a stall

  std::string in_;  // bytes read and not yet used
  std::size_t scanned_ = 0;
  Exchange x_;
  bool in_request_ = false;  // counted as in flight
  std::optional<FaultAction> fault_;
  bool execute_ = false;  // run the operation once the body is in
  bool close_after_ = false;
  std::uint64_t body_left_ = 0;
  std::uint64_t body_received_ = 0;
  TimePoint body_started_;
  std::unique_ptr<ChunkDecoder> chunks_;  // for Transfer-Encoding: chunked

  std::string out_;  // head, with a small body behind it
  std::size_t out_sent_ = 0;
  std::uint64_t body_total_ = 0;
  std::uint64_t body_sent_ = 0;
  std::size_t slice_ = 0;         // the slice being sent
  std::uint64_t slice_sent_ = 0;  // of it
  TimePoint body_began_;
  Shaping shaping_;
};

}  // namespace headrace::devserver
