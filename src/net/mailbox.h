// An event loop's queue of posted work, and the eventfd that wakes the loop for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "net/event_loop.h"

namespace headrace::net {

class Mailbox final : public LoopMailbox {
 public:
  Mailbox() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Mailbox() override { close(wake_); }
  int fd() const { return wake_; }

  void Post(std::function<void()> work) override {
    bool wake = false;
    {
      std::lock_guard lock(mu_);
      if (closed_) return;
      wake = posted_.empty() && !awake_;
      posted_.push_back(std::move(work));
    }
    if (wake) {
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t n = write(wake_, &one, sizeof(one));
    }
  }
  bool InLoop() const override { return std::this_thread::get_id() == loop_thread_.load(); }

  // The loop's side. SetAwake: the loop looks here before it sleeps, so Post need not wake it.
  void SetLoopThread(std::thread::id id) { loop_thread_ = id; }
  void SetAwake() {
    std::lock_guard lock(mu_);
    awake_ = true;
  }
  bool Empty() {
    std::lock_guard lock(mu_);
    return posted_.empty();
  }
  // False when there is work.
  bool MaySleep() {
    std::lock_guard lock(mu_);
    if (posted_.empty()) awake_ = false;
    return posted_.empty();
  }
  std::vector<std::function<void()>> Take() {
    std::lock_guard lock(mu_);
    awake_ = true;
    return std::exchange(posted_, {});
  }
  void Drain() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = read(wake_, &count, sizeof(count));
  }
  // The loop has ended. What was left is dropped, with no lock held: it may post once more.
  void Close() {
    std::vector<std::function<void()>> dropped;
    std::lock_guard lock(mu_);
    closed_ = true;
    loop_thread_ = std::thread::id();
    dropped.swap(posted_);
  }

 private:
  const int wake_;
  std::atomic<std::thread::id> loop_thread_{};
  std::mutex mu_;
  std::vector<std::function<void()>> posted_;  // guarded by mu_
  bool awake_ = false;                         // guarded by mu_
  bool closed_ = false;                        // guarded by mu_
};

}  // namespace headrace::net
