// A client that survives fork: a child opens its own, with the same options, at the first use.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
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

// Process id, as a system call: the cached one of a forked child could be the parent's.
pid_t CurrentProcess();

// What a client gave out (a reader, a batch, …) together with the client that it needs. Calls from
// several threads take turns; one that is under way outlives Release. In a forked child it is let
// go of without a destructor, because the threads behind it are not there.
template <typename T>
class Held {
 public:
  Held(std::shared_ptr<Client> client, std::unique_ptr<T> held)
      : shared_(std::make_shared<Shared>(std::move(client), std::move(held))),
        owner_(CurrentProcess()) {}
  Held(Held&& other) noexcept = default;
  Held& operator=(Held&&) = delete;
  ~Held() { Release(); }

  // False after Release, and in a forked child.
  bool alive() const { return shared_ != nullptr && owner_ == CurrentProcess(); }
  // f(T&) without the GIL, when its turn has come. Raises when it is not alive.
  template <typename F>
  auto Call(F f) const;
  void Release();

  class Weak;
  // Sees what is held, without keeping it. REQUIRES: alive().
  Weak Watch() const { return Weak(shared_, owner_); }

 private:
  struct Shared {
    Shared(std::shared_ptr<Client> c, std::unique_ptr<T> h)
        : client(std::move(c)), held(std::move(h)) {}
    const std::shared_ptr<Client> client;
    const std::unique_ptr<T> held;
    std::timed_mutex turn;
  };

  std::shared_ptr<Shared> shared_;  // guarded by the GIL
  pid_t owner_;
};

// Needs no Python.
template <typename T>
class Held<T>::Weak {
 public:
  Weak(std::weak_ptr<Shared> shared, pid_t owner) : shared_(std::move(shared)), owner_(owner) {}

  // True, too, in a forked child.
  bool gone() const { return shared_.expired() || owner_ != CurrentProcess(); }
  // f(T&), when its turn has come, unless it is gone.
  template <typename F>
  void Call(F f) const {
    if (owner_ != CurrentProcess()) return;
    const std::shared_ptr<Shared> shared = shared_.lock();
    if (shared == nullptr) return;
    const std::lock_guard turn(shared->turn);
    f(*shared->held);
  }

 private:
  std::weak_ptr<Shared> shared_;
  pid_t owner_;
};

template <typename T>
template <typename F>
auto Held<T>::Call(F f) const {
  if (!alive()) {
    Raise(Status(StatusCode::kInvalidArgument,
                 "closed, or made before this process was forked: open it again"));
  }
  // The last to let go of it may wait for a loop's thread: that, too, is for without the GIL.
  std::shared_ptr<Shared> shared = shared_;
  auto result = Blocking([&]() -> std::optional<decltype(f(*shared->held))> {
    const std::shared_ptr<Shared> used = std::move(shared);
    std::unique_lock turn(used->turn, std::defer_lock);
    while (!turn.try_lock() && !turn.try_lock_for(std::chrono::milliseconds(50))) {
      if (ScopedInterruptCheck::Run()) return std::nullopt;  // Blocking throws what it raised
    }
    return f(*used->held);
  });
  return std::move(*result);
}

template <typename T>
void Held<T>::Release() {
  if (shared_ == nullptr) return;
  std::shared_ptr<Shared> shared = std::move(shared_);
  if (owner_ != CurrentProcess()) {
    // Kept for ever. Closing the inherited descriptors is for the ClientHandle, and only once:
    // their numbers may belong to others by now.
    static_cast<void>(new std::shared_ptr<Shared>(std::move(shared)));
    return;
  }
  // Cancelling may wait for a loop thread, and the last client joins them.
  const WithoutGil without_gil;
  shared.reset();
}

void BindClient(nb::module_& module);
void BindData(nb::module_& module);
void BindListing(nb::module_& module);
void BindStreams(nb::module_& module);

// An exported object: the bytes as a buffer, and the version they belong to.
nb::object MakeData(Object object);

}  // namespace headrace::python
