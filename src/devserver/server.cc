#include "devserver/server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <netinet/in.h>
#include <openssl/rand.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "base/macros.h"
#include "devserver/errors.h"
#include "devserver/event_loop.h"
#include "devserver/operation.h"

namespace headrace::devserver {
namespace {

std::string RandomText(std::size_t length) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string bytes(length, '\0');
  RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(length));
  for (char& c : bytes) c = kAlphabet[static_cast<unsigned char>(c) % kAlphabet.size()];
  return bytes;
}

struct Listener {
  int fd = -1;
  std::uint16_t port = 0;
};

Result<Listener> OpenListener(const std::string& bind_to, std::uint16_t port) {
  sockaddr_storage address{};
  socklen_t size = 0;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
  if (inet_pton(AF_INET, bind_to.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    size = sizeof *v4;
  } else if (inet_pton(AF_INET6, bind_to.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    size = sizeof *v6;
  } else {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("bind address \"{}\" is not an IP address", bind_to));
  }
  int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Status(StatusCode::kIo, fmt::format("socket: {}", std::strerror(errno)));
  int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd, 4096) != 0) {
    int error = errno;
    close(fd);
    return Status(
        StatusCode::kIo,
        fmt::format("listening on {} port {}: {}{}", bind_to, port, std::strerror(error),
                    error == EADDRINUSE ? "; choose another port, or 0 for a free one" : ""));
  }
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return Listener{fd, ntohs(address.ss_family == AF_INET ? v4->sin_port : v6->sin6_port)};
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("opening {}: {}", path, std::strerror(errno)));
  }
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// How many data files may stay open: an eighth of the limit, so that connections have the rest.
std::size_t OpenFileCap() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::clamp<std::size_t>(limit.rlim_cur / 8, 16, 8192);
}

}  // namespace

struct Server::Impl {
  ServerOptions options;
  std::string endpoint;
  std::uint16_t port = 0;
  int listener = -1;
  SslContext tls;
  std::unique_ptr<Store> store;
  std::unique_ptr<Authenticator> authenticator;
  std::unique_ptr<Model> model;
  FaultInjector faults;
  Counters counters;
  std::unique_ptr<Service> service;
  std::unique_ptr<ServerContext> context;
  std::vector<std::unique_ptr<EventLoop>> loops;

  ~Impl() { Stop(); }

  Status Prepare();
  Status StartLoops();
  void Stop() {
    // The first loop accepts and hands sockets to the others: it ends first.
    for (auto& loop : loops) loop->Stop();
    if (listener >= 0) close(listener);
    listener = -1;
  }
};

Status Server::Impl::Prepare() {
  if (options.access_key.empty()) options.access_key = "HR" + RandomText(18);
  if (options.secret_key.empty()) options.secret_key = RandomText(40);
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return Status(StatusCode::kInvalidArgument, "TLS needs both a certificate and its key");
  }
  if (!options.tls_certificate.empty()) {
    ASSIGN_OR_RETURN(tls, LoadCertificate(options.tls_certificate, options.tls_key));
  }
  if (!options.faults_file.empty()) {
    ASSIGN_OR_RETURN(std::string rules, ReadFile(options.faults_file));
    RETURN_IF_ERROR(faults.SetRules(rules).WithContext(options.faults_file));
  }
  for (const std::string& bucket : options.buckets) {
    if (!IsValidBucketName(bucket)) {
      return S3Error("InvalidBucketName", fmt::format("\"{}\" cannot name a bucket", bucket));
    }
  }
  // The port first: a server that cannot have it leaves no new folder behind.
  ASSIGN_OR_RETURN(Listener opened, OpenListener(options.bind, options.port));
  listener = opened.fd;
  port = opened.port;
  Store::Options store_options;
  store_options.dir = options.dir;
  store_options.virtual_file = options.virtual_file;
  store_options.max_open_files = OpenFileCap();
  ASSIGN_OR_RETURN(store, Store::Open(store_options));
  for (const std::string& bucket : options.buckets) {
    if (!store->FindBucket(bucket).ok()) RETURN_IF_ERROR(store->CreateBucket(bucket));
  }
  authenticator = std::make_unique<Authenticator>(
      Authenticator::Options{options.access_key, options.secret_key, options.region});
  model = std::make_unique<Model>(options.model);
  Service::Options service_options;
  service_options.region = options.region;
  service_options.domains = options.domains;
  service_options.anonymous_buckets = {options.anonymous_buckets.begin(),
                                       options.anonymous_buckets.end()};
  service_options.min_part_size = options.min_part_size;
  service = std::make_unique<Service>(std::move(service_options), *store, *authenticator, faults,
                                      counters);
  context =
      std::make_unique<ServerContext>(ServerContext{*service, *model, faults, counters, tls.get(),
                                                    options.request_timeout, options.idle_timeout});
  return Status();
}

Status Server::Impl::StartLoops() {
  const bool v6 = options.bind.find(':') != std::string::npos;
  endpoint = fmt::format("{}://{}{}{}:{}", tls ? "https" : "http", v6 ? "[" : "", options.bind,
                         v6 ? "]" : "", port);
  unsigned threads = options.threads;
  if (threads == 0) threads = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  std::vector<EventLoop*> all;
  for (unsigned i = 0; i < threads; ++i) {
    loops.push_back(std::make_unique<EventLoop>(*context, i));
    all.push_back(loops.back().get());
  }
  loops.front()->Listen(listener, all);
  // The accepting loop starts last, when those it hands sockets to are there.
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) RETURN_IF_ERROR((*loop)->Start());
  return Status();
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(const ServerOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  RETURN_IF_ERROR(impl->Prepare());
  RETURN_IF_ERROR(impl->StartLoops());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::string& Server::endpoint() const { return impl_->endpoint; }
std::uint16_t Server::port() const { return impl_->port; }
const std::string& Server::access_key() const { return impl_->options.access_key; }
const std::string& Server::secret_key() const { return impl_->options.secret_key; }
const std::string& Server::region() const { return impl_->options.region; }
RequestCounts Server::counts() const { return impl_->counters.Snapshot(); }
void Server::ResetCounts() { impl_->counters.Reset(); }
Status Server::SetFaults(std::string_view json) { return impl_->faults.SetRules(json); }
void Server::Stop() { impl_->Stop(); }

}  // namespace headrace::devserver
