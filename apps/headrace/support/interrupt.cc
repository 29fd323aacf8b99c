#include "support/interrupt.h"

#include <cstdint>
#include <cstdio>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "support/standard_streams.h"

namespace headrace::cli {
void DieOf(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::kill(::getpid(), signal);
  ::_exit(128 + signal);
}

Interrupt::Interrupt() {
  // A peer that closes its connection, or `| head`, is an error to report, not a reason to die.
  std::signal(SIGPIPE, SIG_IGN);
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&signals_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  signal_fd_ = ::signalfd(-1, &signals_, SFD_CLOEXEC);
  end_fd_ = ::eventfd(0, EFD_CLOEXEC);
  watcher_ = std::thread([this] { Watch(); });
}

Interrupt::~Interrupt() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(end_fd_, &one, sizeof one);
  watcher_.join();
  ::close(signal_fd_);
  ::close(end_fd_);
}

void Interrupt::Watch() {
  for (;;) {
    pollfd fds[2] = {{signal_fd_, POLLIN, 0}, {end_fd_, POLLIN, 0}};
    ::poll(fds, 2, -1);
    if (fds[1].revents != 0) return;
    signalfd_siginfo info{};
    if (fds[0].revents == 0 || ::read(signal_fd_, &info, sizeof info) != sizeof info) continue;
    const int signal = static_cast<int>(info.ssi_signo);
    if (received_ != 0) DieOf(signal);
    received_ = signal;
    PrintError("\nheadrace: stopping, and removing what is unfinished\n");
    stop_.request_stop();
  }
}

int Interrupt::Finish(int exit_code) {
  if (received_ != 0) {
    std::fflush(nullptr);
    DieOf(received_);
  }
  return exit_code;
}

}  // namespace headrace::cli
