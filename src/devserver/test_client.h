// A client for the server's own tests: raw bytes over a socket, so that a test can send and see
// what no HTTP library would.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "devserver/server.h"

namespace headrace::devserver {

struct RawResponse {
  int status = 0;  // 0: the connection ended (or timed out) before a whole head
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // what came of it
  bool complete = false;                       // all of Content-Length came
  bool reset = false;                          // the peer sent an RST
};

class RawClient {
 public:
  explicit RawClient(const Server& server);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void Send(std::string_view bytes);  // errors are ignored: the response tells
  // Reads one response. `head` = it answers a HEAD, so no body follows.
  RawResponse Read(bool head = false);
  // Sends a signed request with `body`, and reads its response.
  RawResponse Call(std::string_view method, std::string_view target, std::string_view body = {},
                   std::string_view headers = {});
  // Whether the server closed the connection; waits up to ten seconds for it.
  bool AtEnd();
  void ShrinkReceiveBuffer();  // makes this a slow reader

  // The bytes of a signed request, without its body. `headers` are further lines with CRLF.
  std::string Sign(std::string_view method, std::string_view target, std::size_t body_size,
                   std::string_view headers = {}) const;
  std::string host() const { return host_; }
  void set_host(std::string host) { host_ = std::move(host); }

 private:
  bool Fill();  // reads more into in_; false at the end
  const Server& server_;
  std::string host_;
  int fd_;
  std::string in_;
  bool reset_ = false;
};

}  // namespace headrace::devserver
