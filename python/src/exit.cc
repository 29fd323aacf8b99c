#include "exit.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <thread>
#include <utility>
#include <vector>

namespace headrace::python {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(5);

// Guarded by the GIL until the interpreter is gone. Here because Py_AtExit passes no argument.
std::vector<HeldWriter::Weak> writers;

// Aborts in a thread of its own, because what a lost server owes us takes longer than we wait.
std::future<void> AbortWriters() {
  std::promise<void> promise;
  std::future<void> done = promise.get_future();
  std::thread([open = std::move(writers), promise = std::move(promise)]() mutable {
    for (const HeldWriter::Weak& writer : open) {
      writer.Call([](Writer& w) { w.Abort(); });
    }
    promise.set_value();
  }).detach();
  return done;
}

// No thread runs Python any more: those in the engine end there, and none comes to it.
void Exit() {
  const Clock::time_point deadline = Clock::now() + kPatience;
  std::erase_if(writers, [](const HeldWriter::Weak& writer) { return writer.gone(); });
  const std::future<void> aborted = writers.empty() ? std::future<void>() : AbortWriters();
  WaitForCalls(deadline);
  if (aborted.valid()) aborted.wait_until(deadline);
}

}  // namespace

void AbortAtExit(const HeldWriter& writer) {
  if (writers.size() == writers.capacity()) {  // or it would grow for ever
    std::erase_if(writers, [](const HeldWriter::Weak& other) { return other.gone(); });
    writers.reserve(std::max(2 * writers.size(), std::size_t{16}));
  }
  writers.push_back(writer.Watch());
}

void WatchExit() { Py_AtExit(&Exit); }

}  // namespace headrace::python
