#include "devserver/test_client.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "devserver/digest.h"
#include "devserver/sigv4.h"
#include "devserver/store.h"
#include "devserver/text.h"

namespace headrace::devserver {

RawClient::RawClient(const Server& server)
    : server_(server), host_(fmt::format("127.0.0.1:{}", server.port())) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  timeval timeout{10, 0};  // a server that hangs fails the test instead of hanging it
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

RawClient::~RawClient() { close(fd_); }

void RawClient::ShrinkReceiveBuffer() {
  int size = 32 * 1024;
  setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

void RawClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool RawClient::Fill() {
  std::array<char, 65536> buffer;
  ssize_t n = recv(fd_, buffer.data(), buffer.size(), 0);
  if (n < 0 && errno == ECONNRESET) reset_ = true;
  if (n < 0 && errno == EAGAIN) ADD_FAILURE() << "no byte for ten seconds";
  if (n <= 0) return false;
  in_.append(buffer.data(), static_cast<std::size_t>(n));
  return true;
}

bool RawClient::AtEnd() {
  while (in_.empty()) {
    if (!Fill()) return true;
  }
  return false;
}

RawResponse RawClient::Read(bool head) {
  RawResponse response;
  std::size_t end;
  while ((end = in_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill()) {
      response.reset = reset_;
      return response;
    }
  }
  std::string text = in_.substr(0, end + 2);
  in_.erase(0, end + 4);
  response.status = std::stoi(text.substr(9, 3));
  for (std::size_t at = text.find("\r\n") + 2; at < text.size();) {
    std::size_t line_end = text.find("\r\n", at);
    std::string line = text.substr(at, line_end - at);
    std::size_t colon = line.find(':');
    response.headers[ToLower(line.substr(0, colon))] = std::string(Trim(line.substr(colon + 1)));
    at = line_end + 2;
  }
  std::size_t length = 0;
  if (!head && response.headers.contains("content-length")) {
    length = std::stoul(response.headers["content-length"]);
  }
  while (in_.size() < length) {
    if (!Fill()) break;
  }
  response.body = in_.substr(0, length);
  in_.erase(0, response.body.size());
  response.complete = response.body.size() == length;
  response.reset = reset_;
  return response;
}

std::string RawClient::Sign(std::string_view method, std::string_view target, std::size_t body_size,
                            std::string_view headers) const {
  const std::string date = FormatAmzDate(NowMs() / 1000);
  std::string text = fmt::format(
      "{} {} HTTP/1.1\r\nHost: {}\r\nx-amz-date: {}\r\nx-amz-content-sha256: "
      "UNSIGNED-PAYLOAD\r\n{}",
      method, target, host_, date, headers);
  if (body_size > 0 || method == "PUT" || method == "POST") {
    if (headers.find("Transfer-Encoding") == std::string_view::npos) {
      text += fmt::format("Content-Length: {}\r\n", body_size);
    }
  }
  RequestHead head;
  QueryParams query;
  EXPECT_TRUE(head.Parse(text + "\r\n").ok());
  EXPECT_TRUE(query.Parse(head.query()).ok());
  std::map<std::string_view, int> sorted;
  for (const auto& [name, value] : head.headers()) {
    if (name == "host" || name.starts_with("x-amz-")) sorted[name] = 0;
  }
  std::vector<std::string_view> names;
  std::string joined;
  for (const auto& [name, ignored] : sorted) {
    names.push_back(name);
    if (!joined.empty()) joined += ';';
    joined += name;
  }
  const std::string scope =
      fmt::format("{}/{}/s3/aws4_request", date.substr(0, 8), server_.region());
  std::string canonical = CanonicalRequest(head, query, names, "UNSIGNED-PAYLOAD");
  std::string key =
      DeriveSigningKey(server_.secret_key(), date.substr(0, 8), server_.region(), "s3");
  std::string signature = HexEncode(HmacSha256(key, StringToSign(date, scope, canonical)));
  return fmt::format(
      "{}Authorization: AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}\r\n\r\n",
      text, server_.access_key(), scope, joined, signature);
}

RawResponse RawClient::Call(std::string_view method, std::string_view target, std::string_view body,
                            std::string_view headers) {
  Send(Sign(method, target, body.size(), headers));
  Send(body);
  return Read(method == "HEAD");
}

}  // namespace headrace::devserver
