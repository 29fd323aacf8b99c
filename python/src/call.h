// The rules of a call from Python into the engine: text, errors, the GIL and signals.
#pragma once

#include <chrono>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "headrace/interrupt.h"
#include "headrace/status.h"

namespace headrace::python {

namespace nb = nanobind;

// Keys are opaque bytes: Python sees them as str with surrogate escapes, as file names are seen.
std::string ToBytes(nb::handle text);
nb::object ToText(std::string_view bytes);

// Sets the Python exception that stands for `status` and throws it. REQUIRES: the GIL, an error.
[[noreturn]] void Raise(const Status& status);
// The exception object alone, for those that are returned.
nb::object ToException(const Status& status);

inline void Check(const Status& status) {
  if (!status.ok()) Raise(status);
}

template <typename T>
T Unwrap(Result<T> result) {
  if (!result.ok()) Raise(result.status());
  return std::move(result).value();
}

// Runs signal handlers, e.g. Ctrl-C's; true when one of them raised, and once in each thread when
// the interpreter ends: the waits of its cleaning up are not cut short.
bool Interrupted();

// From an atexit handler, with the GIL: no thread but this one takes the GIL any more. Waits,
// without it, for those that are about to.
void InterpreterEnds();
// Until no thread is in the engine, or the deadline.
void WaitForCalls(std::chrono::steady_clock::time_point deadline);
// When the module is loaded: the threads that a fork's child does not have are not waited for
// there.
void ForgetThreadsAtFork();

// Without the GIL while it lives. A daemon thread that wants it back while the interpreter ends
// stays in the destructor: Python would end it by pthread_exit, which may not pass through C++
// frames.
class WithoutGil {
 public:
  WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil();

 private:
  PyThreadState* state_ = nullptr;
};

// Runs `f`, which may block, without the GIL. Signals are handled meanwhile: when a handler raises,
// `f`'s waits end and its exception goes to the caller instead of the result. What `f` throws (no
// memory: MemoryError) goes through.
template <typename F>
auto Blocking(F f) {
  auto result = [&] {
    const WithoutGil without_gil;
    // A signal handler may call us again: the outer check goes on serving.
    std::optional<ScopedInterruptCheck> check;
    if (!ScopedInterruptCheck::Installed()) check.emplace(&Interrupted);
    return f();
  }();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return result;
}

// A buffer that Python owns, held while the engine reads or writes it.
class HeldBuffer {
 public:
  // Throws Python's TypeError or BufferError when `object` gives no contiguous buffer of the kind.
  HeldBuffer(nb::handle object, bool writable);
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;
  ~HeldBuffer() { PyBuffer_Release(&view_); }

  std::byte* data() const { return static_cast<std::byte*>(view_.buf); }
  std::size_t size() const { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_;
};

}  // namespace headrace::python
