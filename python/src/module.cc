// headrace._native: the engine's public API for the Python package beside it, and for nobody else.
#include "client.h"
#include "exit.h"

namespace nb = nanobind;

NB_MODULE(_native, module) {
  // Objects that threads still hold when the interpreter ends are no leak worth a warning.
  nb::set_leak_warnings(false);
  module.doc() = "The engine. Use the headrace package; this module may change at any time.";
  headrace::python::ForgetThreadsAtFork();
  headrace::python::WatchExit();
  headrace::python::BindData(module);
  headrace::python::BindStreams(module);
  headrace::python::BindClient(module);
  headrace::python::BindListing(module);
  module.def("interpreter_ends", &headrace::python::InterpreterEnds);
}
