// Readers, writers and batches: what a client gives out and Python drives step by step.

#include "streams.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <vector>

namespace headrace::python {
namespace {

// Reads into bytes that Python will own: one copy, from the engine's memory.
nb::object ReadBytes(HeldReader& self, std::uint64_t offset, std::size_t size) {
  auto bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!bytes.is_valid()) throw nb::python_error();
  auto* out = reinterpret_cast<std::byte*>(PyBytes_AS_STRING(bytes.ptr()));
  const std::size_t got = Unwrap(self.Call([&](Reader& reader) {
    return reader.ReadAt(offset, {out, size});
  }));
  if (got == size) return bytes;
  PyObject* shorter = bytes.release().ptr();
  if (_PyBytes_Resize(&shorter, static_cast<Py_ssize_t>(got)) != 0) throw nb::python_error();
  return nb::steal(shorter);
}

std::size_t ReadInto(HeldReader& self, std::uint64_t offset, nb::handle target) {
  const HeldBuffer out(target, true);
  return Unwrap(self.Call([&](Reader& reader) {
    return reader.ReadAt(offset, {out.data(), out.size()});
  }));
}

// A list of (index, Data or exception): as many as there are, at least one; empty at the end. Each
// crossing costs about as much as a small result, so that a few go together; large ones stay in the
// budget until they are asked for.
nb::list NextOfBatch(HeldBatch& self) {
  constexpr std::size_t kMost = 32;
  constexpr std::size_t kEnough = std::size_t{4} << 20;  // bytes
  std::vector<GetBatch::Item> items = self.Call([](GetBatch& batch) {
    std::vector<GetBatch::Item> ready;
    std::size_t bytes = 0;
    do {
      std::optional<GetBatch::Item> item = batch.Next();
      if (!item) break;
      if (item->result.ok()) bytes += item->result->data.size();
      ready.push_back(std::move(*item));
    } while (ready.size() < kMost && bytes < kEnough && batch.Ready());
    return ready;
  });
  nb::list results;
  for (GetBatch::Item& item : items) {
    const bool ok = item.result.ok();
    results.append(nb::make_tuple(item.index, ok ? MakeData(std::move(item.result).value())
                                                 : ToException(item.result.status())));
  }
  return results;
}

// For one thread: the page lasts until the next call.
nb::object NextPage(HeldLister& self) {
  const std::span<const ListEntry> page =
      Unwrap(self.Call([](Lister& lister) { return lister.NextPage(); }));
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
             return Unwrap(self.Call([](Reader& reader) { return reader.Size(); }));
           })
      .def("etag",
           [](const HeldReader& self) {
             return ToText(self.Call([](Reader& reader) { return reader.Etag(); }));
           })
      .def("alive", &HeldReader::alive)
      .def("close", &HeldReader::Release);

  nb::class_<HeldWriter>(module, "Writer")
      .def(
          "write",
          [](HeldWriter& self, nb::handle data) {
            const HeldBuffer bytes(data, false);
            Check(self.Call([&](Writer& writer) {
              return writer.Write({bytes.data(), bytes.size()});
            }));
            return bytes.size();
          },
          nb::arg("data"))
      .def("close",
           [](HeldWriter& self) {
             std::string etag = Unwrap(self.Call([](Writer& writer) { return writer.Close(); }));
             self.Release();
             return ToText(etag);
           })
      .def("abort", [](HeldWriter& self) {
        if (self.alive()) self.Call([](Writer& writer) { return writer.Abort(), 0; });
        self.Release();
      });

  nb::class_<HeldBatch>(module, "Batch").def("next", &NextOfBatch);
  nb::class_<HeldLister>(module, "Lister").def("next_page", &NextPage);
}

}  // namespace headrace::python
