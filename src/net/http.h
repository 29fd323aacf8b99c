// HTTP messages as the rest of the engine sees them, and the seam to whatever carries them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/buffer.h"
#include "headrace/status.h"

namespace headrace::net {

// Header names compare without case; values are as sent, without surrounding blanks. Views of them
// hold until the next change. One piece of memory for all: a request has tens of them.
class Headers {
 public:
  struct Entry {
    std::string_view name;
    std::string_view value;
  };

  void Add(std::string_view name, std::string_view value);
  // The first value of that name, or "" when there is none.
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const { return Find(name) != size(); }
  void Clear();
  // In the order in which they were added.
  std::size_t size() const { return places_.size(); }
  Entry operator[](std::size_t i) const;

 private:
  struct Place {
    std::size_t begin;  // in text_, of the name; the value follows
    std::size_t name_size;
    std::size_t value_size;
  };

  // size() when there is none.
  std::size_t Find(std::string_view name) const;

  std::string text_;
  std::vector<Place> places_;
};

struct Request {
  std::string method;
  std::string url;  // absolute, path and query already percent-encoded; sent as it is
  Headers headers;  // Host and Content-Length are added by the transport
  Buffer body;      // sent for PUT and POST, with its length
  // Bytes of body that the answer is expected to have; 0 = unknown. A hint for buffers.
  std::uint64_t expected_body = 0;
  // The address to connect to instead of looking the URL's host up, e.g. "10.0.0.7" or "::1".
  std::string pinned_address;
  std::string proxy;  // "" = none; else a proxy URL
};

// How a transfer ended, beside what the server answered.
struct TransferEnd {
  enum class Kind : std::uint8_t {
    kComplete,       // the whole answer arrived
    kConnectFailed,  // no connection: refused, unreachable, or the connect timeout
    kTlsFailed,      // the certificate; trying again does not help
    kBroken,         // the connection ended before the answer did
    kBadAnswer,      // what arrived is not HTTP
    kStopped,        // the handler refused more body
    kRefused,        // the request could not be built, e.g. a malformed URL
  };
  Kind kind = Kind::kComplete;
  std::string detail;  // libcurl's words
  // How often the request was sent again because a kept connection turned out to be dead. The
  // server may have acted on each of them.
  int resends = 0;
};

// Receives one answer, on the event loop's thread. OnHead at most once, then OnBody any number of
// times, then OnEnd exactly once, unless the transfer is aborted: then nothing more comes.
class ResponseHandler {
 public:
  virtual ~ResponseHandler() = default;
  // The final status line and headers (not a 100, not a proxy's CONNECT answer).
  virtual void OnHead(int status, const Headers& headers) = 0;
  // Returning false ends the transfer with kStopped.
  virtual bool OnBody(std::span<const std::byte> bytes) = 0;
  virtual void OnEnd(const TransferEnd& end) = 0;
};

struct TransportOptions {
  std::chrono::milliseconds connect_timeout{3000};
  std::string ca_bundle;  // PEM file; "" = FindCaBundle()
  bool verify_tls = true;
  // Idle connections kept per event loop.
  int max_idle_connections = 512;
};

// The PEM bundle of trusted authorities: AWS_CA_BUNDLE, SSL_CERT_FILE, then where distributions put
// it.
// "" when none was found.
std::string FindCaBundle();

// The proxy for a URL as the usual environment asks (https_proxy, http_proxy, all_proxy, no_proxy,
// in either case; HTTP_PROXY in capitals is ignored, since CGI servers set it from a request). "" =
// none.
std::string ProxyFor(std::string_view scheme, std::string_view host);

}  // namespace headrace::net
