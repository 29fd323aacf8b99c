// Standard input, output and error: what becomes of what is written to them, and of closed ones.
#pragma once

#include <cstdio>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace headrace::cli {

// Call before anything is opened. A closed descriptor 0, 1 or 2 would otherwise be given to the
// next socket or file, which would then be read as input or written to as output. Afterwards
// reading such an input fails, and so does writing to such an output; errors go nowhere.
void OpenClosedStreams();

// The descriptor of this process that a path means: 1 for /dev/stdout and for a link to it, 3 for
// /dev/fd/3 and /proc/self/fd/3.
std::optional<int> DescriptorOf(const std::string& path);

// What a file system (NFS, quotas) tells only when a descriptor is closed: errno, 0 for none. `fd`
// stays open.
int LateError(int fd);

// fmt::print to standard error, except that it does not throw when that is full or closed: there
// is no other place to tell it.
template <typename... T>
void PrintError(fmt::format_string<T...> format, T&&... arguments) {
  const std::string text = fmt::format(format, std::forward<T>(arguments)...);
  [[maybe_unused]] const std::size_t n = std::fwrite(text.data(), 1, text.size(), stderr);
}

// Lines for standard output (or error), and the first thing that went wrong with them. Perhaps
// millions, so they are gathered; Flush() where one is to be seen at once. Not thread-safe.
class Output {
 public:
  explicit Output(std::FILE* file) : file_(file) {}
  ~Output() { Flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void Line(std::string_view line);
  void Flush();
  // False once a write has failed; later lines are dropped.
  bool ok() const { return error_ == 0; }

  // The exit code of a verb that would end with `exit_code`. Lines that could not be written make
  // it a failure, and `who` ("headrace ls") says so on standard error. A success whose reader has
  // gone (`| head`) does not return: the process dies quietly of SIGPIPE, as coreutils do.
  int Finish(std::string_view who, int exit_code);

 private:
  std::FILE* file_;
  std::string text_;
  int error_ = 0;  // errno
};

}  // namespace headrace::cli
