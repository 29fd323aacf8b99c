// Readers, writers and batches: what a client gives out and Python drives step by step.

#include "streams.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>

namespace headrace::python {
namespace {

const Status kGone(StatusCode::kInvalidArgument,
                   "closed, or made before this process was forked: open it again");

template <typename T>
T& Live(const Held<T>& held) {
  T* live = held.get();
  if (live == nullptr) Raise(kGone);
  return *live;
}

// Reads into bytes that Python will own: one copy, from the engine's memory.
nb::object ReadBytes(HeldReader& self, std::uint64_t offset, std::size_t size) {
  Reader& reader = Live(self);
  auto bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!bytes.is_valid()) throw nb::python_error();
  auto* out = reinterpret_cast<std::byte*>(PyBytes_AS_STRING(bytes.ptr()));
  const std::size_t got = Unwrap(Blocking([&] { return reader.ReadAt(offset, {out, size}); }));
  if (got == size) return bytes;
  PyObject* shorter = bytes.release().ptr();
  if (_PyBytes_Resize(&shorter, static_cast<Py_ssize_t>(got)) != 0) throw nb::python_error();
  return nb::steal(shorter);
}

std::size_t ReadInto(HeldReader& self, std::uint64_t offset, nb::handle target) {
  Reader& reader = Live(self);
  const HeldBuffer out(target, true);
  return Unwrap(Blocking([&] { return reader.ReadAt(offset, {out.data(), out.size()}); }));
}

// (index, Data or exception), or None at the end.
nb::object NextOfBatch(HeldBatch& self) {
  GetBatch& batch = Live(self);
  std::optional<GetBatch::Item> item = Blocking([&] { return batch.Next(); });
  if (!item.has_value()) return nb::none();
  if (!item->result.ok()) return nb::make_tuple(item->index, ToException(item->result.status()));
  return nb::make_tuple(item->index, MakeData(std::move(item->result).value()));
}

nb::object NextPage(HeldLister& self) {
  Lister& lister = Live(self);
  const std::span<const ListEntry> page = Unwrap(Blocking([&] { return lister.NextPage(); }));
  nb::list rows;
  for (const ListEntry& entry : page) {
    rows.append(nb::make_tuple(ToText(entry.key), entry.is_prefix, entry.size, ToText(entry.etag),
                               ToSeconds(entry.last_modified), ToText(entry.storage_class)));
  }
  return rows;
}

}  // namespace

double ToSeconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

void BindStreams(nb::module_& module) {
  nb::class_<HeldReader>(module, "Reader")
      .def("read", &ReadBytes, nb::arg("offset"), nb::arg("size"))
      .def("readinto", &ReadInto, nb::arg("offset"), nb::arg("target"))
      .def("size",
           [](HeldReader& self) {
             Reader& reader = Live(self);
             return Unwrap(Blocking([&] { return reader.Size(); }));
           })
      .def(
          "prefetch", [](HeldReader& self, std::uint64_t offset) { Live(self).Prefetch(offset); },
          nb::arg("offset"))
      .def("etag", [](const HeldReader& self) { return ToText(Live(self).Etag()); })
      .def("alive", [](const HeldReader& self) { return self.get() != nullptr; })
      .def("close", &HeldReader::Release);

  nb::class_<HeldWriter>(module, "Writer")
      .def(
          "write",
          [](HeldWriter& self, nb::handle data) {
            Writer& writer = Live(self);
            const HeldBuffer bytes(data, false);
            Check(Blocking([&] { return writer.Write({bytes.data(), bytes.size()}); }));
            return bytes.size();
          },
          nb::arg("data"))
      .def("close",
           [](HeldWriter& self) {
             Writer& writer = Live(self);
             std::string etag = Unwrap(Blocking([&] { return writer.Close(); }));
             self.Release();
             return ToText(etag);
           })
      .def("abort", [](HeldWriter& self) {
        Writer* writer = self.get();
        if (writer != nullptr) {
          Blocking([&] {
            writer->Abort();
            return 0;
          });
        }
        self.Release();
      });

  nb::class_<HeldBatch>(module, "Batch")
      .def("next", &NextOfBatch)
      .def("close", &HeldBatch::Release);

  nb::class_<HeldLister>(module, "Lister").def("next_page", &NextPage);
}

}  // namespace headrace::python
