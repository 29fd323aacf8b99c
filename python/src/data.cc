// headrace.Data: an object's bytes, read by Python through the buffer protocol without a copy.

#include <nanobind/stl/string.h>

#include "client.h"

namespace headrace::python {
namespace {

struct Data {
  Object object;
};

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  static std::byte nothing{};
  const Buffer& buffer = nb::inst_ptr<Data>(self)->object.data;
  std::byte* bytes = buffer.empty() ? &nothing : const_cast<std::byte*>(buffer.data());
  return PyBuffer_FillInfo(view, self, bytes, static_cast<Py_ssize_t>(buffer.size()), 1, flags);
}

// A byte, or a memoryview of a slice: without a copy.
nb::object GetItem(nb::handle self, nb::handle index) {
  const auto view = nb::steal(PyMemoryView_FromObject(self.ptr()));
  if (!view.is_valid()) throw nb::python_error();
  auto item = nb::steal(PyObject_GetItem(view.ptr(), index.ptr()));
  if (!item.is_valid()) throw nb::python_error();
  return item;
}

nb::object CopyToBytes(const Data& data) {
  const std::string_view bytes = data.object.data.view();
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

nb::object MakeData(Object object) { return nb::cast(Data{std::move(object)}); }

void BindData(nb::module_& module) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&GetBuffer)},
                                {0, nullptr}};
  nb::class_<Data>(module, "Data", nb::type_slots(slots))
      .def_prop_ro("uri", [](const Data& data) { return ToText(data.object.uri); })
      .def_prop_ro("etag", [](const Data& data) { return ToText(data.object.etag); })
      .def_prop_ro("size", [](const Data& data) { return data.object.object_size; })
      .def("__len__", [](const Data& data) { return data.object.data.size(); })
      .def("__getitem__", &GetItem)
      .def("__bytes__", &CopyToBytes)
      .def("__repr__", [](nb::handle self) {
        const Data& data = *nb::inst_ptr<Data>(self);
        return nb::str("Data(uri={!r}, {} bytes)")
            .format(ToText(data.object.uri), data.object.data.size());
      });
}

}  // namespace headrace::python
