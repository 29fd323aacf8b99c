#include "net/curl_transfer.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <initializer_list>
#include <sys/socket.h>
#include <unistd.h>

namespace headrace::net {
namespace {

// One read takes at most this much. libcurl allocates the buffer anew for each transfer. Freeing 64
// KiB or more makes malloc tidy its whole arena, so for small objects it stays below that (60
// rather than 100 KiB: 0.68 became 0.65 CPU seconds per GB of 115 KB objects, and 1.05 became 0.97
// where the server is slow). Large bodies gain more from fewer reads.
constexpr long kSmallReceiveBuffer = 60L * 1024;
constexpr long kLargeReceiveBuffer = 512L * 1024;
constexpr std::uint64_t kLargeBody = std::uint64_t{1} << 20;
constexpr long kSendBuffer = 256L * 1024;

// An answer with less than this left is read to its end rather than its connection closed.
constexpr std::uint64_t kDrainLimit = 128UL * 1024;

TransferEnd::Kind KindOf(CURLcode code) {
  using Kind = TransferEnd::Kind;
  switch (code) {
    case CURLE_OK:
      return Kind::kComplete;
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_OPERATION_TIMEDOUT:  // the connect timeout: no other is set
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PROXY:
    case CURLE_INTERFACE_FAILED:
      return Kind::kConnectFailed;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
      return Kind::kTlsFailed;
    case CURLE_WRITE_ERROR:
    case CURLE_ABORTED_BY_CALLBACK:
      return Kind::kStopped;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING:
      return Kind::kBadAnswer;
    case CURLE_URL_MALFORMAT:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_BAD_FUNCTION_ARGUMENT:
      return Kind::kRefused;
    default:
      return Kind::kBroken;
  }
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n' || text.back() == ' ' ||
                           text.back() == '\t')) {
    text.remove_suffix(1);
  }
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

}  // namespace

CurlTransfer::CurlTransfer(const TransportOptions& options, const SocketHooks* hooks)
    : easy_(curl_easy_init()), hooks_(hooks) {
  auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_ERRORBUFFER, error_.data());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_NOPROGRESS, 1L);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PATH_AS_IS, 1L);  // keys may hold "..": the path is sent as signed
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_UPLOAD_BUFFERSIZE, kSendBuffer);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  if (!options.ca_bundle.empty()) set(CURLOPT_CAINFO, options.ca_bundle.c_str());
  set(CURLOPT_SSL_VERIFYPEER, options.verify_tls ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, options.verify_tls ? 2L : 0L);
  set(CURLOPT_HEADERFUNCTION, &OnHeaderLine);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &OnBodyBytes);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_PREREQFUNCTION, &OnSend);
  set(CURLOPT_PREREQDATA, this);
  set(CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
  set(CURLOPT_OPENSOCKETDATA, this);
  // A connection may outlive the transfer that opened it, so its close is told to the owner.
  set(CURLOPT_CLOSESOCKETFUNCTION, &CloseSocket);
  set(CURLOPT_CLOSESOCKETDATA, const_cast<SocketHooks*>(hooks_));
}

CurlTransfer::~CurlTransfer() {
  curl_easy_cleanup(easy_);
  curl_slist_free_all(connect_to_);
}

CurlTransfer* CurlTransfer::Of(CURL* easy) {
  char* self = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
  return reinterpret_cast<CurlTransfer*>(self);
}

void CurlTransfer::SetMethod() {
  auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  const std::string& method = request_.method;
  if (method == "PUT" || method == "POST") {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(CURLOPT_POSTFIELDS,
        request_.body.empty() ? "" : reinterpret_cast<const char*>(request_.body.data()));
  } else {
    set(CURLOPT_HTTPGET, 1L);
    if (method == "HEAD") set(CURLOPT_NOBODY, 1L);
  }
  const bool own = method == "GET" || method == "HEAD" || method == "POST";
  set(CURLOPT_CUSTOMREQUEST, own ? static_cast<const char*>(nullptr) : method.c_str());
}

void CurlTransfer::SetHeaders() {
  header_text_.clear();
  std::size_t lines = 0;
  auto add = [&](std::initializer_list<std::string_view> line) {
    for (const std::string_view piece : line) header_text_ += piece;
    header_text_ += '\0';
    ++lines;
  };
  for (std::size_t i = 0; i < request_.headers.size(); ++i) {
    const auto [name, value] = request_.headers[i];
    if (value.empty()) {
      add({name, ";"});  // libcurl's spelling of a header without a value
    } else {
      add({name, ": ", value});
    }
  }
  // What libcurl would add by itself.
  add({"Accept:"});
  if (!request_.body.empty()) add({"Expect:"});
  if ((request_.method == "PUT" || request_.method == "POST") &&
      !request_.headers.Has("Content-Type")) {
    add({"Content-Type:"});
  }
  header_lines_.resize(lines);
  char* at = header_text_.data();
  for (std::size_t i = 0; i < lines; ++i) {
    header_lines_[i] = {.data = at, .next = i + 1 < lines ? &header_lines_[i + 1] : nullptr};
    at += std::strlen(at) + 1;
  }
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, header_lines_.data());
}

void CurlTransfer::Prepare(std::uint64_t id, Request request, ResponseHandler* handler) {
  id_ = id;
  request_ = std::move(request);
  handler_ = handler;
  running_ = true;
  error_[0] = '\0';
  curl_easy_setopt(easy_, CURLOPT_URL, request_.url.c_str());
  const bool large = request_.expected_body >= kLargeBody;
  curl_easy_setopt(easy_, CURLOPT_BUFFERSIZE, large ? kLargeReceiveBuffer : kSmallReceiveBuffer);
  SetMethod();
  SetHeaders();
  if (!request_.pinned_address.empty() && request_.proxy.empty()) {
    const bool v6 = request_.pinned_address.find(':') != std::string::npos;
    const std::string line = v6 ? fmt::format("::[{}]:", request_.pinned_address)
                                : fmt::format("::{}:", request_.pinned_address);
    connect_to_ = curl_slist_append(nullptr, line.c_str());
  }
  curl_easy_setopt(easy_, CURLOPT_CONNECT_TO, connect_to_);
  curl_easy_setopt(easy_, CURLOPT_PROXY,
                   request_.proxy.c_str());  // "" also ignores the environment
}

TransferEnd CurlTransfer::End(CURLcode code) {
  running_ = false;
  TransferEnd end;
  end.kind = KindOf(code);
  if (end.kind == TransferEnd::Kind::kComplete && !head_done_) {
    end.kind = TransferEnd::Kind::kBadAnswer;  // e.g. an HTTP/0.9 answer, or a 1xx and then nothing
  }
  if (code != CURLE_OK) end.detail = error_[0] != '\0' ? error_.data() : curl_easy_strerror(code);
  end.resends = std::max(sends_ - 1, 0);
  return end;
}

void CurlTransfer::Finish() {
  running_ = false;
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, nullptr);
  curl_easy_setopt(easy_, CURLOPT_CONNECT_TO, nullptr);
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, nullptr);
  curl_slist_free_all(std::exchange(connect_to_, nullptr));
  request_ = {};
  handler_ = nullptr;
  status_ = 0;
  headers_.Clear();
  head_done_ = false;
  draining_ = false;
  received_ = 0;
  sends_ = 0;
}

std::uint64_t CurlTransfer::BytesMoved() const {
  curl_off_t sent = 0;
  curl_easy_getinfo(easy_, CURLINFO_SIZE_UPLOAD_T, &sent);
  return received_ + static_cast<std::uint64_t>(sent);
}

bool CurlTransfer::DrainInstead() {
  if (!running_ || !head_done_ || handler_ == nullptr || !headers_.Has("Content-Length")) {
    return false;
  }
  const std::string_view told = headers_.Get("Content-Length");
  std::uint64_t length = 0;
  std::from_chars(told.data(), told.data() + told.size(), length);
  if (length < received_ || length - received_ > kDrainLimit) return false;
  handler_ = nullptr;
  draining_ = true;
  return true;
}

std::size_t CurlTransfer::OnHeaderLine(char* data, std::size_t, std::size_t size, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const std::string_view line = Trim({data, size});
  if (transfer.head_done_) return size;  // trailers
  if (line.starts_with("HTTP/")) {
    transfer.headers_.Clear();
    const std::size_t space = line.find(' ');
    transfer.status_ = space == std::string_view::npos
                           ? 0
                           : std::atoi(std::string(line.substr(space + 1)).c_str());
  } else if (!line.empty()) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      transfer.headers_.Add(Trim(line.substr(0, colon)), Trim(line.substr(colon + 1)));
    }
  } else if (transfer.status_ >= 200) {
    transfer.head_done_ = true;
    if (transfer.handler_ != nullptr)
      transfer.handler_->OnHead(transfer.status_, transfer.headers_);
  }
  return size;
}

std::size_t CurlTransfer::OnBodyBytes(char* data, std::size_t, std::size_t size, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  transfer.received_ += size;
  if (transfer.draining_) return size;
  if (transfer.handler_ == nullptr) return 0;
  return transfer.handler_->OnBody({reinterpret_cast<const std::byte*>(data), size}) ? size : 0;
}

// libcurl sends again by itself when a kept connection ends before the first byte of the answer.
int CurlTransfer::OnSend(void* self, char*, char*, int, int) {
  ++static_cast<CurlTransfer*>(self)->sends_;
  return CURL_PREREQFUNC_OK;
}

curl_socket_t CurlTransfer::OpenSocket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd >= 0) transfer.hooks_->opened(transfer.hooks_->owner, fd);
  return fd < 0 ? CURL_SOCKET_BAD : fd;
}

int CurlTransfer::CloseSocket(void* hooks, curl_socket_t fd) {
  const auto& h = *static_cast<const SocketHooks*>(hooks);
  h.closed(h.owner, fd);
  return close(fd);
}

}  // namespace headrace::net
