#include "s3/subprocess.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/scoped_fd.h"

extern char** environ;

namespace headrace::s3 {
namespace {

constexpr std::size_t kMaxOutput = 1 << 20;

// Waits for the child on every way out, killing it first unless it ended by itself.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      Wait();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The wait status once it ended, nullopt before; 0 where the host program reaps all children
  // itself (SIGCHLD ignored).
  std::optional<int> Ended() {
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return std::nullopt;
    pid_ = -1;
    return status;
  }

 private:
  void Wait() {
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  pid_t pid_;
};

Result<pid_t> Spawn(const std::vector<std::string>& argv, int output) {
  std::vector<char*> args;
  for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
  args.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  // Signals that this process blocks or ignores mean nothing to the child.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, args[0], &actions, &attributes, args.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return Status(error == ENOENT ? StatusCode::kNotFound : StatusCode::kIo,
                  fmt::format("cannot run '{}': {}", argv[0], std::strerror(error)));
  }
  return pid;
}

// poll's timeout: at most a minute a time, rounded up.
int MillisUntil(Deadline deadline) {
  if (deadline.never()) return 60'000;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.at() -
                                                                 std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

Status Stopped() { return Status(StatusCode::kCancelled, "stopped by the caller"); }

Status TookTooLong(const std::string& program) {
  return Status(StatusCode::kTimeout, fmt::format("'{}' took too long", program));
}

// What the program prints, until it closes its output. `wake` is readable after a stop.
Result<std::string> ReadOutput(int output, int wake, const std::string& program,
                               const std::stop_token& stop, Deadline deadline) {
  std::string text;
  for (;;) {
    pollfd fds[2] = {{output, POLLIN, 0}, {wake, POLLIN, 0}};
    ::poll(fds, 2, MillisUntil(deadline));
    if (stop.stop_requested()) return Stopped();
    if (fds[0].revents != 0) {
      char piece[4096];
      const ssize_t n = ::read(output, piece, sizeof piece);
      if (n == 0) return text;
      if (n > 0) text.append(piece, static_cast<std::size_t>(n));
      if (n < 0 && errno != EINTR && errno != EAGAIN) return text;
      if (text.size() > kMaxOutput) {
        return Status(StatusCode::kIo,
                      fmt::format("'{}' printed more than {} bytes", program, kMaxOutput));
      }
      continue;
    }
    if (deadline.passed()) return TookTooLong(program);
  }
}

// Its wait status. A program ends right after it closed its output, as a rule; one that lives on is
// looked at every 50 ms.
Result<int> WaitUntilEnded(Child& child, int wake, const std::string& program,
                           const std::stop_token& stop, Deadline deadline) {
  for (int pause = 1;; pause = std::min(2 * pause, 50)) {
    if (const std::optional<int> status = child.Ended()) return *status;
    if (stop.stop_requested()) return Stopped();
    if (deadline.passed()) return TookTooLong(program);
    pollfd woken{wake, POLLIN, 0};
    ::poll(&woken, 1, std::min(pause, MillisUntil(deadline)));
  }
}

}  // namespace

Result<std::string> RunProgram(const std::vector<std::string>& argv, std::stop_token stop,
                               Deadline deadline) {
  if (argv.empty()) return Status(StatusCode::kInvalidArgument, "the command is empty");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Status(StatusCode::kIo, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  ScopedFd output(ends[0]);
  ScopedFd write_end(ends[1]);
  const ScopedFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::stop_callback on_stop(stop, [&wake] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(wake.get(), &one, sizeof one);
  });
  Result<pid_t> pid = Spawn(argv, write_end.get());
  if (!pid.ok()) return pid.status();
  Child child(*pid);
  write_end.Close();

  ASSIGN_OR_RETURN(std::string text, ReadOutput(output.get(), wake.get(), argv[0], stop, deadline));
  ASSIGN_OR_RETURN(const int status, WaitUntilEnded(child, wake.get(), argv[0], stop, deadline));
  if (WIFSIGNALED(status)) {
    return Status(StatusCode::kIo,
                  fmt::format("'{}' was killed by signal {}", argv[0], WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) {
    return Status(StatusCode::kIo,
                  fmt::format("'{}' failed with exit status {}", argv[0], WEXITSTATUS(status)));
  }
  return text;
}

std::optional<std::vector<std::string>> SplitCommand(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote != '\'' && c == '\\' && i + 1 < command.size()) {
      // Within double quotes a backslash only escapes what is special there.
      const char next = command[i + 1];
      if (quote != 0 && next != '"' && next != '\\') word += c;
      word += next;
      in_word = true;
      ++i;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return std::nullopt;
  if (in_word) words.push_back(std::move(word));
  if (words.empty()) return std::nullopt;
  return words;
}

}  // namespace headrace::s3
