// Ctrl-C and its like as a stop token, so that a verb can end what it began: remove half files,
// abort open uploads.
#pragma once

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace headrace::cli {

// Ends the process by `signal`, whatever was set up for it.
[[noreturn]] void DieOf(int signal);

// Make one before any other thread starts: it blocks SIGINT, SIGTERM and SIGHUP for all later ones
// and receives them itself. The first requests a stop; a second ends the process at once. A signal
// that was ignored at the start (nohup) stays ignored.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

  // What the verb returns when it is done. After a signal this does not return: the process dies of
  // the same signal, so that a shell's loop ends too.
  int Finish(int exit_code);

 private:
  void Watch();

  std::stop_source stop_;
  sigset_t signals_;
  int signal_fd_ = -1;
  int end_fd_ = -1;
  std::atomic<int> received_ = 0;
  std::thread watcher_;
};

}  // namespace headrace::cli
