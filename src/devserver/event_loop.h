// One thread, one epoll set, and the connections that live on it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "devserver/context.h"
#include "headrace/status.h"

namespace headrace::devserver {

class Connection;

// Start, Adopt and Stop may be called from any thread, all else belongs to the loop's own.
class EventLoop {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  EventLoop(ServerContext& context, unsigned index);
  ~EventLoop();  // stops
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  Status Start();
  void Stop();  // closes all connections and joins the thread
  // Takes over an accepted, non-blocking socket.
  void Adopt(int fd);
  // Accepts from `listener` and hands each socket to the loop with the fewest connections.
  // REQUIRES: before Start. The loops outlive this one's thread.
  void Listen(int listener, std::vector<EventLoop*> loops);
  std::size_t connections() const { return connection_count_.load(std::memory_order_relaxed); }

  // For connections.
  TimePoint now() const { return now_; }  // of this turn
  // Calls the connection's OnTimer at `when`; a later call replaces an earlier one.
  void SetTimer(Connection& connection, TimePoint when);
  void Defer(Connection& connection);  // drives it again on the next turn
  char* scratch() { return scratch_.get(); }
  static constexpr std::size_t kScratchBytes = 256 << 10;
  std::string_view DateHeader();  // "Date: …\r\n", of this second
  std::string NextRequestId();

 private:
  struct Slot {
    std::unique_ptr<Connection> connection;
    std::uint32_t generation = 0;
  };
  struct Timer {
    TimePoint when;
    std::uint64_t id;  // slot and generation
    std::uint64_t sequence;
    bool operator>(const Timer& other) const { return when > other.when; }
  };

  void Run();
  int WaitMs() const;
  void AcceptAll();
  void AddConnection(int fd);
  void TakeAdopted();
  void FireTimers();
  void Sweep();
  Connection* Find(std::uint64_t id);
  void Reap(Connection& connection);

  ServerContext& context_;
  const unsigned index_;
  int epoll_ = -1;
  int wake_ = -1;
  int listener_ = -1;
  bool accepting_ = false;
  std::vector<EventLoop*> loops_;
  std::thread thread_;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> connection_count_ = 0;

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::vector<std::uint64_t> deferred_;
  TimePoint now_;
  TimePoint next_sweep_;
  std::unique_ptr<char[]> scratch_;
  std::int64_t date_second_ = 0;
  std::string date_header_;
  std::uint64_t request_number_ = 0;

  std::mutex mutex_;
  std::vector<int> adopted_;  // guarded by mutex_
};

}  // namespace headrace::devserver
