// Bytes to and from one accepted socket, plain or under TLS. Never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <openssl/types.h>
#include <string>

#include "headrace/status.h"

namespace headrace::devserver {

enum class IoState : std::uint8_t { kOk, kAgain, kClosed };  // kClosed: end of stream or error

struct IoResult {
  IoState state = IoState::kOk;
  std::size_t bytes = 0;
};

class Transport {
 public:
  explicit Transport(int fd) : fd_(fd) {}
  virtual ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  int fd() const { return fd_; }

  virtual IoState Handshake() { return IoState::kOk; }
  virtual IoResult Read(char* data, std::size_t size) = 0;
  // `more` promises that further bytes follow at once.
  virtual IoResult Write(const char* data, std::size_t size, bool more) = 0;
  virtual IoResult WriteFile(int file, std::uint64_t offset, std::size_t size) = 0;
  virtual void ShutdownWrite() = 0;
  void ResetOnClose();  // the peer gets an RST instead of a FIN

 protected:
  int fd_;
};

std::unique_ptr<Transport> NewPlainTransport(int fd);
std::unique_ptr<Transport> NewTlsTransport(int fd, SSL_CTX* context);

struct SslContextDeleter {
  void operator()(SSL_CTX* context) const;
};
using SslContext = std::unique_ptr<SSL_CTX, SslContextDeleter>;
// Errors: kInvalidArgument when the PEM files cannot be read or do not belong together.
Result<SslContext> LoadCertificate(const std::string& certificate, const std::string& key);

}  // namespace headrace::devserver
