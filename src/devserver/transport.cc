#include "devserver/transport.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

namespace headrace::devserver {
namespace {

IoResult FromReturn(ssize_t n) {
  if (n > 0) return {IoState::kOk, static_cast<std::size_t>(n)};
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return {IoState::kAgain, 0};
  return {IoState::kClosed, 0};
}

class PlainTransport final : public Transport {
 public:
  using Transport::Transport;
  IoResult Read(char* data, std::size_t size) override {
    return FromReturn(recv(fd_, data, size, 0));
  }
  IoResult Write(const char* data, std::size_t size, bool more) override {
    return FromReturn(send(fd_, data, size, MSG_NOSIGNAL | (more ? MSG_MORE : 0)));
  }
  IoResult WriteFile(int file, std::uint64_t offset, std::size_t size) override {
    off_t at = static_cast<off_t>(offset);
    return FromReturn(sendfile(fd_, file, &at, size));
  }
  void ShutdownWrite() override { shutdown(fd_, SHUT_WR); }
};

class TlsTransport final : public Transport {
 public:
  TlsTransport(int fd, SSL_CTX* context) : Transport(fd), ssl_(SSL_new(context)) {
    SSL_set_fd(ssl_, fd);
  }
  ~TlsTransport() override { SSL_free(ssl_); }
  IoState Handshake() override { return FromSsl(SSL_accept(ssl_)).state; }
  IoResult Read(char* data, std::size_t size) override {
    return FromSsl(SSL_read(ssl_, data, static_cast<int>(std::min<std::size_t>(size, 1 << 30))));
  }
  IoResult Write(const char* data, std::size_t size, bool /*more*/) override {
    return FromSsl(SSL_write(ssl_, data, static_cast<int>(std::min<std::size_t>(size, 1 << 20))));
  }
  IoResult WriteFile(int file, std::uint64_t offset, std::size_t size) override {
    // A write that must be repeated reads the same bytes again: data files never change.
    std::array<char, (64 << 10)> buffer;
    ssize_t n =
        pread(file, buffer.data(), std::min(size, buffer.size()), static_cast<off_t>(offset));
    if (n <= 0) return {IoState::kClosed, 0};
    return Write(buffer.data(), static_cast<std::size_t>(n), false);
  }
  void ShutdownWrite() override {
    SSL_shutdown(ssl_);
    shutdown(fd_, SHUT_WR);
  }

 private:
  IoResult FromSsl(int n) {
    if (n > 0) return {IoState::kOk, static_cast<std::size_t>(n)};
    int error = SSL_get_error(ssl_, n);
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
      return {IoState::kAgain, 0};
    }
    return {IoState::kClosed, 0};
  }
  SSL* ssl_;
};

std::string LastSslError() {
  std::array<char, 256> text;
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

}  // namespace

Transport::~Transport() { close(fd_); }

void Transport::ResetOnClose() {
  linger option{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &option, sizeof option);
}

std::unique_ptr<Transport> NewPlainTransport(int fd) {
  return std::make_unique<PlainTransport>(fd);
}

std::unique_ptr<Transport> NewTlsTransport(int fd, SSL_CTX* context) {
  return std::make_unique<TlsTransport>(fd, context);
}

void SslContextDeleter::operator()(SSL_CTX* context) const { SSL_CTX_free(context); }

Result<SslContext> LoadCertificate(const std::string& certificate, const std::string& key) {
  SslContext context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("TLS certificate {}: {}", certificate, LastSslError()));
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return Status(StatusCode::kInvalidArgument, fmt::format("TLS key {} for certificate {}: {}",
                                                            key, certificate, LastSslError()));
  }
  return context;
}

}  // namespace headrace::devserver
