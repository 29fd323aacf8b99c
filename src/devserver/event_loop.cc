#include "devserver/event_loop.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "devserver/connection.h"
#include "devserver/text.h"

namespace headrace::devserver {
namespace {

constexpr std::uint64_t kWakeId = ~std::uint64_t{0};
constexpr std::uint64_t kListenerId = kWakeId - 1;
constexpr auto kSweepEvery = std::chrono::milliseconds(500);

Status SystemError(std::string_view what) {
  return Status(StatusCode::kIo, fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

EventLoop::EventLoop(ServerContext& context, unsigned index)
    : context_(context), index_(index), scratch_(new char[kScratchBytes]) {}

EventLoop::~EventLoop() { Stop(); }

void EventLoop::Listen(int listener, std::vector<EventLoop*> loops) {
  listener_ = listener;
  loops_ = std::move(loops);
}

Status EventLoop::Start() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll_ < 0 || wake_ < 0) return SystemError("starting an event loop");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeId;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  now_ = std::chrono::steady_clock::now();
  next_sweep_ = now_ + kSweepEvery;
  thread_ = std::thread([this] { Run(); });
  return Status();
}

void EventLoop::Stop() {
  if (thread_.joinable()) {
    stopping_ = true;
    eventfd_write(wake_, 1);
    thread_.join();
  }
  for (int fd : adopted_) close(fd);
  adopted_.clear();
  if (epoll_ >= 0) close(epoll_);
  if (wake_ >= 0) close(wake_);
  epoll_ = wake_ = -1;
}

void EventLoop::Adopt(int fd) {
  {
    std::lock_guard lock(mutex_);
    adopted_.push_back(fd);
  }
  connection_count_.fetch_add(1, std::memory_order_relaxed);
  eventfd_write(wake_, 1);
}

int EventLoop::WaitMs() const {
  if (!deferred_.empty()) return 0;
  TimePoint next = next_sweep_;
  if (!timers_.empty()) next = std::min(next, timers_.top().when);
  auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - now_).count();
  return static_cast<int>(std::clamp<std::int64_t>(wait, 0, 1000));
}

void EventLoop::Run() {
  // sendfile and TLS writes to a peer that has gone raise SIGPIPE, which has no flag to stop it.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  std::vector<epoll_event> events(256);
  while (!stopping_) {
    if (listener_ >= 0 && !accepting_) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = kListenerId;
      accepting_ = epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event) == 0;
    }
    int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), WaitMs());
    now_ = std::chrono::steady_clock::now();
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 == kListenerId) {
        AcceptAll();
      } else if (event.data.u64 == kWakeId) {
        eventfd_t ignored;
        eventfd_read(wake_, &ignored);
        TakeAdopted();
      } else if (Connection* connection = Find(event.data.u64)) {
        connection->OnEvents(event.events);
        Reap(*connection);
      }
    }
    std::vector<std::uint64_t> deferred;
    deferred.swap(deferred_);
    for (std::uint64_t id : deferred) {
      if (Connection* connection = Find(id)) {
        connection->Drive();
        Reap(*connection);
      }
    }
    FireTimers();
    Sweep();
  }
  slots_.clear();
}

void EventLoop::AcceptAll() {
  while (true) {
    sockaddr_storage address;
    socklen_t size = sizeof address;
    int fd = accept4(listener_, reinterpret_cast<sockaddr*>(&address), &size,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE) {
        // Try again when the sweep has had time to close something.
        epoll_ctl(epoll_, EPOLL_CTL_DEL, listener_, nullptr);
        accepting_ = false;
        next_sweep_ = now_ + std::chrono::milliseconds(50);
        usleep(1000);
      }
      return;
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    EventLoop* target = *std::min_element(loops_.begin(), loops_.end(), [](auto* a, auto* b) {
      return a->connections() < b->connections();
    });
    if (target == this) {
      connection_count_.fetch_add(1, std::memory_order_relaxed);
      AddConnection(fd);
    } else {
      target->Adopt(fd);
    }
  }
}

void EventLoop::TakeAdopted() {
  std::vector<int> fds;
  {
    std::lock_guard lock(mutex_);
    fds.swap(adopted_);
  }
  for (int fd : fds) AddConnection(fd);
}

void EventLoop::AddConnection(int fd) {
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  std::uint64_t id = (std::uint64_t{slot} << 32) | ++slots_[slot].generation;
  auto transport =
      context_.tls != nullptr ? NewTlsTransport(fd, context_.tls) : NewPlainTransport(fd);
  slots_[slot].connection = std::make_unique<Connection>(*this, context_, std::move(transport), id);
  epoll_event event{};
  // Edge-triggered: one system call for a connection's whole life.
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = id;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

Connection* EventLoop::Find(std::uint64_t id) {
  std::uint64_t slot = id >> 32;
  if (slot >= slots_.size() || slots_[slot].generation != static_cast<std::uint32_t>(id)) {
    return nullptr;
  }
  return slots_[slot].connection.get();
}

void EventLoop::Reap(Connection& connection) {
  if (!connection.closed()) return;
  auto slot = static_cast<std::uint32_t>(connection.id() >> 32);
  slots_[slot].connection.reset();
  free_slots_.push_back(slot);
  connection_count_.fetch_sub(1, std::memory_order_relaxed);
}

void EventLoop::SetTimer(Connection& connection, TimePoint when) {
  timers_.push({when, connection.id(), connection.NextTimer()});
}

void EventLoop::Defer(Connection& connection) { deferred_.push_back(connection.id()); }

void EventLoop::FireTimers() {
  while (!timers_.empty() && timers_.top().when <= now_) {
    Timer timer = timers_.top();
    timers_.pop();
    Connection* connection = Find(timer.id);
    if (connection == nullptr || connection->timer() != timer.sequence) continue;
    connection->Drive();
    Reap(*connection);
  }
}

void EventLoop::Sweep() {
  if (now_ < next_sweep_) return;
  next_sweep_ = now_ + kSweepEvery;
  for (Slot& slot : slots_) {
    if (slot.connection == nullptr) continue;
    slot.connection->CloseIfOverdue();
    Reap(*slot.connection);
  }
}

std::string_view EventLoop::DateHeader() {
  std::int64_t second = NowMs() / 1000;
  if (second != date_second_) {
    date_second_ = second;
    date_header_ = fmt::format("Date: {}\r\n", FormatHttpDate(second));
  }
  return date_header_;
}

std::string EventLoop::NextRequestId() {
  // Looks random, and two loops never give the same one.
  std::uint64_t z = (++request_number_ * 64 + index_) * 0x9E3779B97F4A7C15ULL;
  return fmt::format("{:016X}", z ^ (z >> 29));
}

}  // namespace headrace::devserver
