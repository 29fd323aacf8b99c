#include "client.h"

#include <chrono>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "exit.h"
#include "options.h"
#include "streams.h"

namespace headrace::python {

pid_t CurrentProcess() { return getpid(); }

ClientHandle::ClientHandle(ClientOptions options) : options_(std::move(options)) { Get(); }

ClientHandle::~ClientHandle() {
  if (client_ == nullptr) return;
  if (owner_ != CurrentProcess()) {
    Client::AbandonAfterFork(client_);
    return;
  }
  const WithoutGil without_gil;  // the last client joins its threads
  client_.reset();
}

std::shared_ptr<Client> ClientHandle::Get() {
  if (owner_ == CurrentProcess()) return client_;
  if (client_ != nullptr) Client::AbandonAfterFork(client_);
  std::shared_ptr<Client> opened = Unwrap(Blocking([&] { return Client::Open(options_); }));
  if (owner_ != CurrentProcess()) {
    client_ = std::move(opened);
    owner_ = CurrentProcess();
  } else {  // another thread was quicker
    const WithoutGil without_gil;
    opened.reset();
  }
  return client_;
}

namespace {

nb::object ToTuple(const ObjectInfo& info) {
  nb::dict metadata;
  for (const auto& [name, value] : info.metadata) metadata[ToText(name)] = ToText(value);
  return nb::make_tuple(ToText(info.bucket), ToText(info.key), info.size, ToText(info.etag),
                        ToSeconds(info.last_modified), ToText(info.storage_class),
                        ToText(info.content_type), metadata);
}

nb::object Get(ClientHandle& self, nb::handle uri, std::optional<std::uint64_t> offset,
               std::optional<std::uint64_t> length, nb::handle if_match, bool verify) {
  const std::shared_ptr<Client> client = self.Get();
  const std::string address = ToBytes(uri);
  GetOptions options;
  if (offset.has_value() || length.has_value()) {
    options.range = ByteRange{offset.value_or(0), length.value_or(UINT64_MAX)};
  }
  options.if_match = ToBytes(if_match);
  options.verify = verify;
  return MakeData(Unwrap(Blocking([&] { return client->Get(address, options); })));
}

HeldBatch GetMany(ClientHandle& self, nb::handle uris, bool ordered, int max_in_flight) {
  std::shared_ptr<Client> client = self.Get();
  std::vector<GetItem> items;
  for (nb::handle item : nb::iter(uris)) {
    GetItem& added = items.emplace_back();
    if (nb::isinstance<nb::tuple>(item)) {  // (address, size)
      added.uri = ToBytes(item[0]);
      added.options.size = nb::cast<std::uint64_t>(item[1]);
    } else {
      added.uri = ToBytes(item);
    }
  }
  std::unique_ptr<GetBatch> batch = Blocking([&] {
    return client->GetMany(std::move(items), {.ordered = ordered, .max_in_flight = max_in_flight});
  });
  return {std::move(client), std::move(batch)};
}

nb::object Put(ClientHandle& self, nb::handle uri, nb::handle data, const nb::dict& options) {
  const std::shared_ptr<Client> client = self.Get();
  const std::string address = ToBytes(uri);
  const PutOptions put = ToPutOptions(options);
  const HeldBuffer bytes(data, false);
  return ToText(Unwrap(Blocking([&] {
    return client->Put(address, {bytes.data(), bytes.size()}, put);
  })));
}

// One exception or None for each address.
nb::list Delete(ClientHandle& self, nb::handle uris) {
  const std::shared_ptr<Client> client = self.Get();
  std::vector<std::string> addresses;
  for (nb::handle uri : nb::iter(uris)) addresses.push_back(ToBytes(uri));
  const std::vector<Status> statuses = Blocking([&] { return client->Delete(addresses); });
  nb::list results;
  for (const Status& status : statuses) {
    results.append(status.ok() ? nb::none() : ToException(status));
  }
  return results;
}

nb::dict Metrics(ClientHandle& self) {
  nb::dict metrics;
  for (const auto& [name, value] : self.Get()->Metrics()) metrics[ToText(name)] = value;
  return metrics;
}

HeldReader OpenReader(ClientHandle& self, nb::handle uri, std::optional<std::uint64_t> size,
                      nb::handle if_match, bool sequential) {
  std::shared_ptr<Client> client = self.Get();
  const std::string address = ToBytes(uri);
  const ReaderOptions options{
      .size = size, .if_match = ToBytes(if_match), .sequential = sequential};
  auto reader = Unwrap(Blocking([&] { return client->OpenReader(address, options); }));
  return {std::move(client), std::move(reader)};
}

HeldWriter OpenWriter(ClientHandle& self, nb::handle uri, const nb::dict& options) {
  std::shared_ptr<Client> client = self.Get();
  const std::string address = ToBytes(uri);
  const PutOptions put = ToPutOptions(options);
  auto writer = Unwrap(Blocking([&] { return client->OpenWriter(address, put); }));
  HeldWriter held(std::move(client), std::move(writer));
  AbortAtExit(held);
  return held;
}

HeldLister List(ClientHandle& self, nb::handle uri, bool delimited, nb::handle start_after) {
  std::shared_ptr<Client> client = self.Get();
  const std::string address = ToBytes(uri);
  const ListOptions options{.delimited = delimited, .start_after = ToBytes(start_after)};
  auto lister = Unwrap(Blocking([&] { return client->List(address, options); }));
  return {std::move(client), std::move(lister)};
}

nb::tuple SplitAddress(nb::handle uri) {
  const Address address = Unwrap(ParseAddress(ToBytes(uri)));
  const char* scheme = address.scheme == Address::Scheme::kS3       ? "s3"
                       : address.scheme == Address::Scheme::kMemory ? "memory"
                                                                    : "file";
  return nb::make_tuple(scheme, ToText(address.bucket), ToText(address.key));
}

}  // namespace

void BindClient(nb::module_& module) {
  nb::class_<ClientHandle>(module, "Client")
      .def(
          "__init__",
          [](ClientHandle* self, const nb::dict& options) {
            new (self) ClientHandle(ToClientOptions(options));
          },
          nb::arg("options"))
      .def(
          "head",
          [](ClientHandle& self, nb::handle uri) {
            const std::shared_ptr<Client> client = self.Get();
            const std::string address = ToBytes(uri);
            return ToTuple(Unwrap(Blocking([&] { return client->Head(address); })));
          },
          nb::arg("uri"))
      .def("get", &Get, nb::arg("uri"), nb::arg("offset").none(), nb::arg("length").none(),
           nb::arg("if_match"), nb::arg("verify"))
      .def("get_many", &GetMany, nb::arg("uris"), nb::arg("ordered"), nb::arg("max_in_flight"))
      .def("put", &Put, nb::arg("uri"), nb::arg("data"), nb::arg("options"))
      .def("delete", &Delete, nb::arg("uris"))
      .def(
          "copy",
          [](ClientHandle& self, nb::handle source, nb::handle target) {
            const std::shared_ptr<Client> client = self.Get();
            const std::string from = ToBytes(source);
            const std::string to = ToBytes(target);
            return ToText(Unwrap(Blocking([&] { return client->Copy(from, to); })));
          },
          nb::arg("source"), nb::arg("target"))
      .def("list", &List, nb::arg("uri"), nb::arg("delimited"), nb::arg("start_after"))
      .def("open_reader", &OpenReader, nb::arg("uri"), nb::arg("size").none(), nb::arg("if_match"),
           nb::arg("sequential"))
      .def("open_writer", &OpenWriter, nb::arg("uri"), nb::arg("options"))
      .def(
          "create_bucket",
          [](ClientHandle& self, const std::string& bucket) {
            const std::shared_ptr<Client> client = self.Get();
            Check(Blocking([&] { return client->CreateBucket(bucket); }));
          },
          nb::arg("bucket"))
      .def(
          "delete_bucket",
          [](ClientHandle& self, const std::string& bucket) {
            const std::shared_ptr<Client> client = self.Get();
            Check(Blocking([&] { return client->DeleteBucket(bucket); }));
          },
          nb::arg("bucket"))
      .def("list_buckets",
           [](ClientHandle& self) {
             const std::shared_ptr<Client> client = self.Get();
             return Unwrap(Blocking([&] { return client->ListBuckets(); }));
           })
      .def("metrics", &Metrics)
      .def("prometheus_text", [](ClientHandle& self) { return self.Get()->PrometheusText(); });
  module.def("split_address", &SplitAddress, nb::arg("uri"));
  module.def("version", [] { return ToText(Version()); });
}

}  // namespace headrace::python
