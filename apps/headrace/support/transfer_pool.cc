#include "support/transfer_pool.h"

#include <utility>

namespace headrace::cli {

bool TransferPool::Submit(Task task) {
  std::unique_lock lock(mu_);
  const bool room = room_.wait(lock, stop_, [this] { return queue_.size() < 2 * max_threads_; });
  if (!room || stop_.stop_requested()) return false;
  queue_.push_back(std::move(task));
  if (idle_ < queue_.size() && threads_.size() < max_threads_) {
    threads_.emplace_back([this] { Work(); });
  }
  lock.unlock();
  work_.notify_one();
  return true;
}

void TransferPool::Work() {
  std::unique_lock lock(mu_);
  for (;;) {
    ++idle_;
    work_.wait(lock, stop_, [this] { return !queue_.empty() || closed_; });
    --idle_;
    if (stop_.stop_requested() || queue_.empty()) return;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    room_.notify_one();
    task();
    lock.lock();
  }
}

void TransferPool::Drain() {
  {
    std::lock_guard lock(mu_);
    closed_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  queue_.clear();  // tasks that a stop left over, with what they own
}

}  // namespace headrace::cli
