// One libcurl easy handle and the request that it carries at the moment.
#pragma once

#include <array>
#include <cstdint>
#include <curl/curl.h>

#include "net/http.h"

namespace headrace::net {

// Used by one thread. Prepare, add to a multi handle, End, remove, Finish; then Prepare again.
class CurlTransfer {
 public:
  // Told of every socket that is opened and closed; `owner` outlives all connections.
  struct SocketHooks {
    void* owner;
    void (*opened)(void* owner, int fd);
    void (*closed)(void* owner, int fd);
  };

  // `hooks` outlives the transfer and every connection it opens.
  CurlTransfer(const TransportOptions& options, const SocketHooks* hooks);
  ~CurlTransfer();
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  // The transfer behind a handle of libcurl's.
  static CurlTransfer* Of(CURL* easy);

  void Prepare(std::uint64_t id, Request request, ResponseHandler* handler);
  TransferEnd End(CURLcode code);
  void Finish();

  // The handler hears nothing more, and the next byte of body ends the transfer.
  void Mute() { handler_ = nullptr; }
  // When the rest of the answer is short: the handler hears nothing more, but the answer is read to
  // its end, so that the connection can be used again. False when it is long or unknown.
  bool DrainInstead();

  // Of bodies, in both directions.
  std::uint64_t BytesMoved() const;

  CURL* easy() const { return easy_; }
  std::uint64_t id() const { return id_; }
  ResponseHandler* handler() const { return handler_; }
  bool connected() const { return head_done_; }

 private:
  static std::size_t OnHeaderLine(char* data, std::size_t, std::size_t size, void* self);
  static std::size_t OnBodyBytes(char* data, std::size_t, std::size_t size, void* self);
  static int OnSend(void* self, char*, char*, int, int);
  static curl_socket_t OpenSocket(void* self, curlsocktype, curl_sockaddr* address);
  static int CloseSocket(void* self, curl_socket_t fd);

  void SetMethod();
  void SetHeaders();

  CURL* const easy_;
  const SocketHooks* const hooks_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::string header_text_;               // lines, each ended by a NUL
  std::vector<curl_slist> header_lines_;  // over them: libcurl only reads what it is given
  curl_slist* connect_to_ = nullptr;

  std::uint64_t id_ = 0;
  Request request_;
  ResponseHandler* handler_ = nullptr;
  bool running_ = false;

  int status_ = 0;
  Headers headers_;
  bool head_done_ = false;
  bool draining_ = false;
  std::uint64_t received_ = 0;
  int sends_ = 0;
};

}  // namespace headrace::net
