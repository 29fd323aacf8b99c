// One thread that waits for sockets, timers and posted work, and runs HTTP transfers.
//
// libcurl does HTTP and TLS (multi interface, socket action); the waiting is ours, because timers
// and work from other threads have to share it. What is decided here and why:
//  - A connection that goes idle stays registered with epoll: libcurl asks to remove it after each
//    answer and to add it before the next, which would be two system calls a request.
//  - Aborting a transfer closes its connection, so an answer with a short rest is read to its end
//    first, by nobody, and the connection lives on; unless the rest takes longer than a second.
//  - While many transfers are under way it looks for events only every so often (at most every
//    millisecond): woken for each, it spends more on waking than on the bytes.
//  - Easy handles are reused; what differs between requests is set each time.
//
// Everything but Post and mailbox belongs to the loop's own thread: handlers, timers and posted
// functions all run there, one at a time, so what they share needs no lock.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "base/deadline.h"
#include "base/metrics.h"
#include "net/http.h"

namespace headrace::net {

struct LoopMetrics {
  Gauge connections;  // open now
  Counter connections_opened;
  Counter rounds;  // of looking for events
  Counter connections_lost_to_abort;
};

// Where other threads leave work for a loop. Shared, because a callback of a thread that the loop
// does not know of (a name lookup, a fetch of credentials) may come after the loop's end.
class LoopMailbox {
 public:
  virtual ~LoopMailbox() = default;
  // As EventLoop::Post; after the loop's end it drops `work`.
  virtual void Post(std::function<void()> work) = 0;
  // Whether this is the loop's thread.
  virtual bool InLoop() const = 0;
};

class EventLoop {
 public:
  using TimerId = std::uint64_t;     // 0 = none
  using TransferId = std::uint64_t;  // 0 = none

  // Starts the thread. `metrics` may be shared by several loops and must outlive them.
  EventLoop(const TransportOptions& options, LoopMetrics* metrics);
  // Runs what was posted before and nothing that is posted from now on, ends all transfers without
  // calling their handlers, joins the thread.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // From any thread: runs `work` on the loop's thread, soon, in order of posting.
  void Post(std::function<void()> work);
  // The same for whoever may outlive the loop.
  std::shared_ptr<LoopMailbox> mailbox() const;

  // Loop thread only. `work` runs once at or after `at`.
  TimerId At(SteadyTime at, std::function<void()> work);
  void CancelTimer(TimerId id);

  // Loop thread only. `handler` must live until OnEnd or Abort. The first callback comes after
  // Start has returned.
  TransferId Start(Request request, ResponseHandler* handler);
  // Loop thread only. The handler hears nothing more. Unknown and ended ids are ignored.
  void Abort(TransferId id);

  // Loop thread only. Bytes of body that the transfer sent and received so far.
  std::uint64_t BytesMoved(TransferId id);

  // In a fork's child, instead of the destructor: closes the inherited descriptors and touches
  // nothing else. The object must then be leaked.
  void CloseInheritedDescriptors();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace::net
