// _native.Listing for Python, and fetching by index: addresses never become Python strings.

#include <cerrno>
#include <fcntl.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "client.h"
#include "listing.h"
#include "streams.h"

namespace headrace::python {
namespace {

// As a list is indexed: negative from the end, IndexError beyond.
std::uint64_t ToIndex(const Listing& listing, nb::handle number) {
  const Py_ssize_t index = PyNumber_AsSsize_t(number.ptr(), PyExc_IndexError);
  if (index == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  const auto size = static_cast<Py_ssize_t>(listing.size());
  if (index < -size || index >= size) {
    throw nb::index_error(("index " + std::to_string(index) + " of a data set of " +
                           std::to_string(size) + " objects")
                              .c_str());
  }
  return static_cast<std::uint64_t>(index < 0 ? index + size : index);
}

// A listed object needs no HEAD, and stays the version that was listed.
GetItem ToItem(Listing::Entry entry) {
  GetItem item{std::move(entry.uri), {}};
  item.options.size = entry.size;
  item.options.if_match = std::move(entry.etag);
  return item;
}

// What stands before a key in every address of one listing.
std::string Base(const Address& address) {
  switch (address.scheme) {
    case Address::Scheme::kS3:
      return "s3://" + address.bucket + "/";
    case Address::Scheme::kMemory:
      return "memory://" + address.bucket + "/";
    case Address::Scheme::kFile:
      break;
  }
  return "";  // a path is an address
}

std::unique_ptr<Listing> Build(ClientHandle& self, nb::handle uri, bool skip_markers) {
  const std::shared_ptr<Client> client = self.Get();
  const std::string prefix = ToBytes(uri);
  return Unwrap(Blocking([&]() -> Result<std::unique_ptr<Listing>> {
    Result<Address> address = ParseAddress(prefix);
    if (!address.ok()) return address.status();
    ListingBuilder builder(Base(*address));
    auto lister = client->List(prefix);
    if (!lister.ok()) return lister.status();
    while (true) {
      auto page = (*lister)->NextPage();
      if (!page.ok()) return page.status();
      if (page->empty()) return builder.Finish();
      for (const ListEntry& entry : *page) {
        if (skip_markers && entry.size == 0 && entry.key.ends_with('/')) continue;
        builder.Add(entry.key, entry.size, entry.etag);
      }
    }
  }));
}

// From tuples (address, size or None, ETag or "").
std::unique_ptr<Listing> FromEntries(nb::handle entries) {
  ListingBuilder builder("");
  for (nb::handle entry : nb::iter(entries)) {
    const nb::object uri = entry[0];
    const nb::object etag = entry[2];
    const std::string address = ToBytes(uri);
    Unwrap(ParseAddress(address));
    builder.Add(address, nb::cast<std::optional<std::uint64_t>>(entry[1]), ToBytes(etag));
  }
  return Unwrap(builder.Finish());
}

std::unique_ptr<Listing> FromDescriptor(int fd) {
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) {
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
  }
  return Unwrap(Listing::FromDescriptor(own));
}

std::unique_ptr<Listing> FromBytes(const nb::bytes& bytes) {
  const int fd = memfd_create("headrace-listing", MFD_CLOEXEC);
  const char* data = bytes.c_str();
  std::size_t left = bytes.size();
  while (fd >= 0 && left > 0) {
    const ssize_t wrote = write(fd, data, left);
    if (wrote < 0 && errno != EINTR) break;
    if (wrote < 0) continue;
    data += wrote;
    left -= static_cast<std::size_t>(wrote);
  }
  if (fd < 0 || left > 0) {
    PyErr_SetFromErrno(PyExc_OSError);
    if (fd >= 0) close(fd);
    throw nb::python_error();
  }
  return Unwrap(Listing::FromDescriptor(fd));
}

nb::tuple At(const Listing& listing, nb::handle index) {
  const Listing::Entry entry = listing.At(ToIndex(listing, index));
  const nb::object size = entry.size.has_value() ? nb::object(nb::int_(*entry.size)) : nb::none();
  return nb::make_tuple(ToText(entry.uri), size, ToText(entry.etag));
}

nb::object Get(const Listing& listing, ClientHandle& handle, nb::handle index) {
  const std::shared_ptr<Client> client = handle.Get();
  const GetItem item = ToItem(listing.At(ToIndex(listing, index)));
  return MakeData(Unwrap(Blocking([&] { return client->Get(item.uri, item.options); })));
}

HeldBatch GetMany(const Listing& listing, ClientHandle& handle, nb::handle indices, bool ahead) {
  std::shared_ptr<Client> client = handle.Get();
  std::vector<GetItem> items;
  for (nb::handle index : nb::iter(indices)) {
    items.push_back(ToItem(listing.At(ToIndex(listing, index))));
  }
  std::unique_ptr<GetBatch> batch =
      Blocking([&] { return client->GetMany(std::move(items), {.ahead = ahead}); });
  return {std::move(client), std::move(batch)};
}

}  // namespace

void BindListing(nb::module_& module) {
  nb::class_<Listing>(module, "Listing")
      .def_static("build", &Build, nb::arg("client"), nb::arg("uri"), nb::arg("skip_markers"))
      .def_static("from_entries", &FromEntries, nb::arg("entries"))
      .def_static("from_descriptor", &FromDescriptor, nb::arg("fd"))
      .def_static("from_bytes", &FromBytes, nb::arg("data"))
      .def("__len__", &Listing::size)
      .def("__getitem__", &At, nb::arg("index"))
      .def("get", &Get, nb::arg("client"), nb::arg("index"))
      .def("get_many", &GetMany, nb::arg("client"), nb::arg("indices"), nb::arg("ahead"))
      .def("to_bytes",
           [](const Listing& self) { return nb::bytes(self.bytes().data(), self.bytes().size()); })
      .def("size_of",
           [](const Listing& self, nb::handle index) { return self.SizeOf(ToIndex(self, index)); })
      .def_prop_ro("largest", &Listing::largest)
      .def_prop_ro("fd", &Listing::fd)
      .def_prop_ro("nbytes", [](const Listing& self) { return self.bytes().size(); })
      .def_prop_ro("id", &Listing::Id);
}

}  // namespace headrace::python
