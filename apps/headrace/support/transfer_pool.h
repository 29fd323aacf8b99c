// Threads that each carry one object at a time, fed through a short queue.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace headrace::cli {

class TransferPool {
 public:
  using Task = std::function<void()>;

  // Threads start as tasks come, up to `threads`.
  TransferPool(std::size_t threads, std::stop_token stop)
      : max_threads_(threads), stop_(std::move(stop)) {}
  ~TransferPool() { Drain(); }
  TransferPool(const TransferPool&) = delete;
  TransferPool& operator=(const TransferPool&) = delete;

  // Waits while the queue is full. After a stop the task is dropped; false then.
  bool Submit(Task task);
  // Waits until all submitted tasks have run. After a stop those not begun are dropped.
  void Drain();

 private:
  void Work();

  const std::size_t max_threads_;
  const std::stop_token stop_;
  std::mutex mu_;
  std::condition_variable_any work_;  // a task came, or the end: wakes one thread
  std::condition_variable_any room_;  // a task was taken: wakes the submitter
  std::deque<Task> queue_;            // guarded by mu_
  std::size_t idle_ = 0;              // guarded by mu_
  bool closed_ = false;               // guarded by mu_
  std::vector<std::thread> threads_;  // used by the submitting thread alone
};

}  // namespace headrace::cli
