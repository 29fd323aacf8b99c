// What all connections of a server share.
#pragma once

#include <chrono>
#include <cstdint>

#include "devserver/counters.h"
#include "devserver/faults.h"
#include "devserver/model.h"
#include "devserver/service.h"
#include "devserver/transport.h"

namespace headrace::devserver {

struct ServerContext {
  Service& service;
  Model& model;
  FaultInjector& faults;
  Counters& counters;
  SSL_CTX* tls = nullptr;                            // null: plain
  std::chrono::milliseconds request_timeout{20000};  // for a whole head; without progress in a body
  std::chrono::milliseconds idle_timeout{120000};    // between requests
};

}  // namespace headrace::devserver
