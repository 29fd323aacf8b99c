#include "call.h"

#include <atomic>
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
std::thread::id ending_thread;

bool MayEnter() {
  return !ends.load(std::memory_order_acquire) || std::this_thread::get_id() == ending_thread;
}

}  // namespace

void InterpreterEnds() {
  ending_thread = std::this_thread::get_id();
  ends.store(true, std::memory_order_release);
}

PyThreadState* LeaveInterpreter() { return PyEval_SaveThread(); }

void EnterInterpreter(PyThreadState* state) {
  while (!MayEnter()) pause();
  PyEval_RestoreThread(state);
}

bool Interrupted() {
  if (!MayEnter()) return true;
  const nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

HeldBuffer::HeldBuffer(nb::handle object, bool writable) {
  if (PyObject_GetBuffer(object.ptr(), &view_, writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) != 0) {
    throw nb::python_error();
  }
}

}  // namespace headrace::python
