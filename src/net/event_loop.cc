#include "net/event_loop.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <sys/epoll.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/curl_transfer.h"
#include "net/descriptor_set.h"
#include "net/mailbox.h"

namespace headrace::net {
namespace {

constexpr int kMaxEvents = 256;

// With this many transfers under way a loop lets so many events come together, for so long at most.
constexpr std::size_t kManyTransfers = 8;
constexpr int kEventsWorthARound = 6;
constexpr Duration kLongestGather = std::chrono::milliseconds(1);

// The rest of an aborted answer has this long to come; then its connection is closed after all.
constexpr Duration kLongestDrain = std::chrono::seconds(1);

}  // namespace

class EventLoop::Impl {
 public:
  Impl(const TransportOptions& options, LoopMetrics* metrics)
      : options_(options),
        metrics_(metrics),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        multi_(curl_multi_init()) {
    if (options_.ca_bundle.empty()) options_.ca_bundle = FindCaBundle();
    descriptors_.Insert(epoll_);
    descriptors_.Insert(mailbox_->fd());
    epoll_event event{.events = EPOLLIN, .data = {.fd = mailbox_->fd()}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, mailbox_->fd(), &event);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Impl::OnSocket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Impl::OnCurlTimer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS,
                      static_cast<long>(options_.max_idle_connections));
    // The program's signals are for its own threads, and a peer that hangs up must not end it
    // (SIGPIPE): the loop's thread inherits a mask that blocks them all.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { Run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void Stop() {
    mailbox_->Post([this] { stop_ = true; });
    thread_.join();
    mailbox_->Close();
  }

  ~Impl() {
    transfers_.clear();
    idle_.clear();
    curl_multi_cleanup(multi_);
    close(epoll_);
  }

  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }

  TimerId At(SteadyTime at, std::function<void()> work) {
    const TimerId id = ++last_id_;
    timers_.emplace(std::pair(at, id), std::move(work));
    timer_times_.emplace(id, at);
    return id;
  }

  void CancelTimer(TimerId id) {
    auto it = timer_times_.find(id);
    if (it == timer_times_.end()) return;
    timers_.erase(std::pair(it->second, id));
    timer_times_.erase(it);
  }

  TransferId Start(Request request, ResponseHandler* handler) {
    const TransferId id = ++last_id_;
    std::unique_ptr<CurlTransfer> transfer;
    if (!idle_.empty()) {
      transfer = std::move(idle_.back());
      idle_.pop_back();
    } else {
      transfer = std::make_unique<CurlTransfer>(options_, &hooks_);
    }
    transfer->Prepare(id, std::move(request), handler);
    to_add_.push_back(id);
    transfers_.emplace(id, std::move(transfer));
    return id;
  }

  void Abort(TransferId id) {
    auto it = transfers_.find(id);
    if (it == transfers_.end()) return;
    CurlTransfer& transfer = *it->second;
    if (transfer.DrainInstead()) {
      // Whoever aborts for want of bytes would otherwise wait for them for ever. A second Abort
      // ends.
      At(std::chrono::steady_clock::now() + kLongestDrain, [this, id] { Abort(id); });
      return;
    }
    // libcurl forbids removing a handle from inside its own callbacks, so that comes later.
    transfer.Mute();
    doomed_.push_back(id);
  }

  std::uint64_t BytesMoved(TransferId id) {
    auto it = transfers_.find(id);
    return it == transfers_.end() ? 0 : it->second->BytesMoved();
  }

  void CloseInheritedDescriptors() { descriptors_.CloseAll(); }

 private:
  struct Watch {
    bool pooled = false;    // one of our connections, which outlive their transfers
    int wanted = 0;         // what libcurl asked for, CURL_POLL_*
    std::uint32_t set = 0;  // what epoll was told
    bool registered = false;
  };

  static std::uint32_t EventsFor(int what) {
    switch (what) {
      case CURL_POLL_IN:
        return EPOLLIN;
      case CURL_POLL_OUT:
        return EPOLLOUT;
      case CURL_POLL_INOUT:
        return EPOLLIN | EPOLLOUT;
      default:
        return 0;
    }
  }

  static int OnSocket(CURL*, curl_socket_t fd, int what, void* self, void*) {
    static_cast<Impl*>(self)->WatchSocket(fd, what);
    return 0;
  }

  void WatchSocket(int fd, int what) {
    Watch& watch = watches_[fd];
    watch.wanted = what == CURL_POLL_REMOVE ? CURL_POLL_NONE : what;
    const std::uint32_t events = EventsFor(watch.wanted);
    if (events == 0) {
      // An idle connection stays registered for reading: see the top of the header. What else
      // libcurl watches (its resolver's thread, where it looks a proxy up) is closed next.
      if (!watch.pooled) Unwatch(fd);
      return;
    }
    SetEvents(fd, watch, events);
  }

  void SetEvents(int fd, Watch& watch, std::uint32_t events) {
    if (watch.registered && watch.set == events) return;
    epoll_event event{.events = events, .data = {.fd = fd}};
    if (watch.registered) {
      if (epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0 || errno != ENOENT) {
        watch.set = events;
        return;
      }
    }
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    watch.registered = true;
    watch.set = events;
  }

  static int OnCurlTimer(CURLM*, long timeout_ms, void* self) {
    auto& impl = *static_cast<Impl*>(self);
    impl.curl_due_ = timeout_ms < 0
                         ? SteadyTime::max()
                         : std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    return 0;
  }

  static void OnOpened(void* self, int fd) {
    auto& impl = *static_cast<Impl*>(self);
    impl.descriptors_.Insert(fd);
    impl.watches_[fd] = {.pooled = true};
    impl.metrics_->connections.Add(1);
    impl.metrics_->connections_opened.Add();
  }

  static void OnClosed(void* self, int fd) {
    auto& impl = *static_cast<Impl*>(self);
    impl.descriptors_.Erase(fd);
    impl.Unwatch(fd);
    impl.metrics_->connections.Add(-1);
  }

  // Closing alone does not end the registration while a forked child has the same socket open: its
  // events would come for ever, under a number that is nobody's or somebody else's.
  void Unwatch(int fd) {
    auto it = watches_.find(fd);
    if (it == watches_.end()) return;
    if (it->second.registered) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    watches_.erase(it);
  }

  void Run() {
    mailbox_->SetLoopThread(std::this_thread::get_id());
    pthread_setname_np(pthread_self(), "headrace-loop");
    while (!stop_) {
      RunPosted();
      RunTimers();
      if (std::chrono::steady_clock::now() >= curl_due_) {
        curl_due_ = SteadyTime::max();
        int running = 0;
        curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
      }
      CollectDoomed();
      CollectFinished();
      AddStarted();
      if (!stop_) WaitForEvents();
    }
    for (auto& [id, transfer] : transfers_) curl_multi_remove_handle(multi_, transfer->easy());
  }

  void RunPosted() {
    std::vector<std::function<void()>> work = mailbox_->Take();
    for (auto& item : work) {
      if (stop_) break;
      item();
    }
  }

  void RunTimers() {
    const SteadyTime now = std::chrono::steady_clock::now();
    while (!timers_.empty() && timers_.begin()->first.first <= now) {
      auto node = timers_.extract(timers_.begin());
      timer_times_.erase(node.key().second);
      node.mapped()();
    }
  }

  SteadyTime NextDue() const {
    return timers_.empty() ? curl_due_ : std::min(curl_due_, timers_.begin()->first.first);
  }

  // Milliseconds to wait, rounded up so that a timer is never polled for.
  int TimeoutMs() {
    const SteadyTime due = NextDue();
    if (due == SteadyTime::max()) return -1;
    const auto now = std::chrono::steady_clock::now();
    if (due <= now) return 0;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(due - now).count();
    return static_cast<int>(std::min<std::int64_t>(ms, 60'000));
  }

  // A round for each event costs more than what the event brings: the loop sleeps until a few have
  // probably come. What is posted meanwhile needs no wake-up and waits with them.
  void Gather() {
    const Duration nap = std::min(kEventsWorthARound * event_interval_, kLongestGather);
    if (transfers_.size() < kManyTransfers || nap < 2 * event_interval_) return;
    if (!doomed_.empty() || !mailbox_->Empty()) return;
    const SteadyTime now = std::chrono::steady_clock::now();
    std::this_thread::sleep_until(std::min(now + nap, NextDue()));
  }

  // Keeps `event_interval_`, a moving average, given the events of this round.
  void CountEvents(int events) {
    const SteadyTime now = std::chrono::steady_clock::now();
    const Duration since = std::min(now - counted_at_, kNoEvents);
    event_interval_ += (since / std::max(events, 1) - event_interval_) / 8;
    counted_at_ = now;
  }

  void WaitForEvents() {
    Gather();
    const int timeout = doomed_.empty() && mailbox_->MaySleep() ? TimeoutMs() : 0;
    epoll_event events[kMaxEvents];
    const int n = epoll_wait(epoll_, events, kMaxEvents, timeout);
    mailbox_->SetAwake();
    metrics_->rounds.Add();
    CountEvents(n);
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      if (fd == mailbox_->fd()) {
        mailbox_->Drain();
      } else {
        OnEvent(fd, events[i].events);
      }
    }
  }

  void OnEvent(int fd, std::uint32_t events) {
    auto it = watches_.find(fd);
    if (it == watches_.end()) return;  // closed by an earlier event of this round
    if (it->second.wanted == CURL_POLL_NONE) {
      // The server closed an idle connection. libcurl finds out when it next wants to use it.
      epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
      it->second.registered = false;
      return;
    }
    int mask = 0;
    if ((events & EPOLLIN) != 0) mask |= CURL_CSELECT_IN;
    if ((events & EPOLLOUT) != 0) mask |= CURL_CSELECT_OUT;
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) mask |= CURL_CSELECT_IN | CURL_CSELECT_ERR;
    int running = 0;
    curl_multi_socket_action(multi_, fd, mask, &running);
  }

  // Adding a handle is forbidden inside libcurl's callbacks, too, and handlers may well start
  // there.
  void AddStarted() {
    for (const TransferId id : std::exchange(to_add_, {})) {
      if (auto it = transfers_.find(id); it != transfers_.end()) {
        curl_multi_add_handle(multi_, it->second->easy());
      }
    }
  }

  void CollectDoomed() {
    for (const TransferId id : std::exchange(doomed_, {})) {
      if (auto it = transfers_.find(id); it != transfers_.end()) {
        if (it->second->connected()) metrics_->connections_lost_to_abort.Add();
        curl_multi_remove_handle(multi_, it->second->easy());
        Recycle(it);
      }
    }
  }

  void CollectFinished() {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CurlTransfer* transfer = CurlTransfer::Of(message->easy_handle);
      const CURLcode code = message->data.result;
      auto it = transfers_.find(transfer->id());
      ResponseHandler* handler = transfer->handler();
      const TransferEnd end = transfer->End(code);
      curl_multi_remove_handle(multi_, transfer->easy());
      Recycle(it);
      if (handler != nullptr) handler->OnEnd(end);
    }
  }

  void Recycle(std::map<TransferId, std::unique_ptr<CurlTransfer>>::iterator it) {
    it->second->Finish();
    if (idle_.size() < kMaxIdleHandles) idle_.push_back(std::move(it->second));
    transfers_.erase(it);
  }

  static constexpr std::size_t kMaxIdleHandles = 256;

  TransportOptions options_;
  LoopMetrics* const metrics_;
  const int epoll_;
  const std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  CURLM* const multi_;
  const CurlTransfer::SocketHooks hooks_{
      .owner = this, .opened = &Impl::OnOpened, .closed = &Impl::OnClosed};
  DescriptorSet descriptors_;

  // The loop thread's own.
  bool stop_ = false;
  std::uint64_t last_id_ = 0;
  static constexpr Duration kNoEvents = std::chrono::milliseconds(100);
  Duration event_interval_ = kNoEvents;
  SteadyTime counted_at_{};
  std::map<std::pair<SteadyTime, TimerId>, std::function<void()>> timers_;
  std::unordered_map<TimerId, SteadyTime> timer_times_;
  SteadyTime curl_due_ = SteadyTime::max();
  std::unordered_map<int, Watch> watches_;
  std::map<TransferId, std::unique_ptr<CurlTransfer>> transfers_;
  std::vector<std::unique_ptr<CurlTransfer>> idle_;
  std::vector<TransferId> to_add_;
  std::vector<TransferId> doomed_;

  std::thread thread_;  // last: it uses all of the above
};

EventLoop::EventLoop(const TransportOptions& options, LoopMetrics* metrics)
    : impl_(std::make_unique<Impl>(options, metrics)) {}
EventLoop::~EventLoop() { impl_->Stop(); }  // whose work may still use this
void EventLoop::Post(std::function<void()> work) { impl_->mailbox()->Post(std::move(work)); }
std::shared_ptr<LoopMailbox> EventLoop::mailbox() const { return impl_->mailbox(); }
EventLoop::TimerId EventLoop::At(SteadyTime at, std::function<void()> work) {
  return impl_->At(at, std::move(work));
}
void EventLoop::CancelTimer(TimerId id) { impl_->CancelTimer(id); }
EventLoop::TransferId EventLoop::Start(Request request, ResponseHandler* handler) {
  return impl_->Start(std::move(request), handler);
}
void EventLoop::Abort(TransferId id) { impl_->Abort(id); }
std::uint64_t EventLoop::BytesMoved(TransferId id) { return impl_->BytesMoved(id); }
void EventLoop::CloseInheritedDescriptors() { impl_->CloseInheritedDescriptors(); }

}  // namespace headrace::net
