#include "call.h"

#include <atomic>
#include <chrono>
#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace headrace::python {

std::string ToBytes(nb::handle text) {
  if (PyBytes_Check(text.ptr())) {
    return {PyBytes_AS_STRING(text.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(text.ptr()))};
  }
  if (!PyUnicode_Check(text.ptr())) {
    const nb::str type(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(text.ptr()))));
    throw nb::type_error((std::string("expected str, got ") + type.c_str()).c_str());
  }
  const auto encoded = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!encoded.is_valid()) throw nb::python_error();
  return {PyBytes_AS_STRING(encoded.ptr()),
          static_cast<std::size_t>(PyBytes_GET_SIZE(encoded.ptr()))};
}

nb::object ToText(std::string_view bytes) {
  PyObject* text =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (text == nullptr) throw nb::python_error();
  return nb::steal(text);
}

nb::object ToException(const Status& status) {
  const ErrorInfo& info = status.info();
  return nb::module_::import_("headrace._errors")
      .attr("from_native")(ToText(StatusCodeName(status.code())), ToText(status.message()),
                           info.http_status, ToText(info.s3_code), ToText(info.request_id),
                           ToText(info.bucket), ToText(info.key), info.attempts,
                           static_cast<double>(info.elapsed.count()) / 1000.0);
}

void Raise(const Status& status) {
  const nb::object exception = ToException(status);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

namespace {

// Set once, when the interpreter ends. Atomic because threads without the GIL read it.
std::atomic<bool> ends{false};
std::atomic<int> entering{0};   // threads that found it not set and wait for the GIL
std::atomic<int> in_engine{0};  // threads without the GIL that are at work
std::thread::id ending_thread;

// Holds the end of the interpreter up while a thread of ours waits for the GIL: Python would end
// the thread there.
class Entrance {
 public:
  Entrance() {
    entering.fetch_add(1);  // before the look at `ends`: InterpreterEnds sees one or the other
    open_ = !ends.load() || std::this_thread::get_id() == ending_thread;
    if (!open_) entering.fetch_sub(1);
  }
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;
  ~Entrance() {
    if (open_) entering.fetch_sub(1);
  }
  bool open() const { return open_; }

 private:
  bool open_ = false;
};

}  // namespace

void ForgetThreadsAtFork() {
  pthread_atfork(nullptr, nullptr, [] {
    entering.store(0);
    in_engine.store(0);
  });
}

void InterpreterEnds() {
  ending_thread = std::this_thread::get_id();
  ends.store(true);
  PyThreadState* const state = PyEval_SaveThread();
  while (entering.load() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

void WaitForCalls(std::chrono::steady_clock::time_point deadline) {
  // Below zero in a child that a signal handler forked amid a call.
  while (in_engine.load() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

WithoutGil::WithoutGil() {
  in_engine.fetch_add(1);  // with the GIL: when none can have that any more, it only falls
  state_ = PyEval_SaveThread();
}

WithoutGil::~WithoutGil() {
  in_engine.fetch_sub(1);
  const Entrance entrance;
  while (!entrance.open()) pause();
  PyEval_RestoreThread(state_);
}

bool Interrupted() {
  std::optional<nb::gil_scoped_acquire> gil;
  {
    const Entrance entrance;
    if (!entrance.open()) {
      thread_local bool told = false;
      return !std::exchange(told, true);
    }
    gil.emplace();
  }
  // What was raised before (we are cleaning up after it) would turn the handler's call into a
  // SystemError.
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (PyErr_CheckSignals() == 0) {
    PyErr_Restore(type, value, trace);
    return false;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return true;
}

HeldBuffer::HeldBuffer(nb::handle object, bool writable) {
  if (PyObject_GetBuffer(object.ptr(), &view_, writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) != 0) {
    throw nb::python_error();
  }
}

}  // namespace headrace::python
