// headrace._native: the engine's public API for the Python package beside it, and for nobody else.
#include "client.h"

NB_MODULE(_native, module) {
  module.doc() = "The engine. Use the headrace package; this module may change at any time.";
  headrace::python::BindData(module);
  headrace::python::BindStreams(module);
  headrace::python::BindClient(module);
  headrace::python::BindListing(module);
}
