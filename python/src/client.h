// A client that survives fork: a child opens its own, with the same options, at the first use.
#pragma once

#include <memory>
#include <sys/types.h>
#include <utility>

#include "call.h"
#include "headrace/client.h"

namespace headrace::python {

// The GIL guards every member but the constant options: whoever forks from Python holds it, so a
// child finds them whole.
class ClientHandle {
 public:
  explicit ClientHandle(ClientOptions options);
  ClientHandle(const ClientHandle&) = delete;
  ClientHandle& operator=(const ClientHandle&) = delete;
  ~ClientHandle();

  // This process's client. Opening it may ask the instance's metadata service for the region, for
  // some seconds. Raises what Client::Open says.
  std::shared_ptr<Client> Get();

 private:
  const ClientOptions options_;
  std::shared_ptr<Client> client_;
  pid_t owner_ = 0;
};

// What a client gave out (a reader, a batch, …) together with the client that it needs. In a forked
// child it is let go of without a destructor, because the threads behind it are not there.
template <typename T>
class Held {
 public:
  Held(std::shared_ptr<Client> client, std::unique_ptr<T> held);
  Held(Held&& other) noexcept = default;
  Held& operator=(Held&&) = delete;
  ~Held() { Release(); }

  // Null after Release, and in a forked child.
  T* get() const;
  void Release();

 private:
  std::shared_ptr<Client> client_;
  std::unique_ptr<T> held_;
  pid_t owner_;
};

// Process id, as a system call: the cached one of a forked child could be the parent's.
pid_t CurrentProcess();

template <typename T>
Held<T>::Held(std::shared_ptr<Client> client, std::unique_ptr<T> held)
    : client_(std::move(client)), held_(std::move(held)), owner_(CurrentProcess()) {}

template <typename T>
T* Held<T>::get() const {
  return owner_ == CurrentProcess() ? held_.get() : nullptr;
}

template <typename T>
void Held<T>::Release() {
  if (held_ == nullptr && client_ == nullptr) return;
  if (owner_ != CurrentProcess()) {
    // Kept for ever. Closing the inherited descriptors is for the ClientHandle, and only once:
    // their numbers may belong to others by now.
    static_cast<void>(held_.release());
    static_cast<void>(new std::shared_ptr<Client>(std::move(client_)));
    return;
  }
  // Cancelling may wait for a loop thread, and the last client joins them.
  const WithoutGil without_gil;
  held_.reset();
  client_.reset();
}

void BindClient(nb::module_& module);
void BindData(nb::module_& module);
void BindListing(nb::module_& module);
void BindStreams(nb::module_& module);

// An exported object: the bytes as a buffer, and the version they belong to.
nb::object MakeData(Object object);

}  // namespace headrace::python
