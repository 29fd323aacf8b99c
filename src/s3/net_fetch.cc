#include "s3/net_fetch.h"

#include <fmt/format.h>

#include "base/pending.h"
#include "net/event_loop.h"

namespace headrace::s3 {
namespace {

constexpr std::size_t kBodyLimit = std::size_t{1} << 20;

class Exchange final : public net::ResponseHandler {
 public:
  explicit Exchange(std::string url) : url_(std::move(url)) {}
  Pending<FetchResponse> Begin() {
    auto [pending, promise] = MakePending<FetchResponse>();
    promise_ = std::move(promise);
    return std::move(pending);
  }
  void OnHead(int status, const net::Headers& headers) override {
    response_.status = status;
    response_.headers.clear();
    for (std::size_t i = 0; i < headers.size(); ++i) {
      response_.headers.emplace_back(headers[i].name, headers[i].value);
    }
  }
  bool OnBody(std::span<const std::byte> bytes) override {
    response_.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return response_.body.size() <= kBodyLimit;
  }
  void OnEnd(const net::TransferEnd& end) override {
    if (end.kind == net::TransferEnd::Kind::kComplete) {
      promise_.Set(std::move(response_));
    } else {
      promise_.Set(Status(StatusCode::kUnreachable, fmt::format("{}: {}", url_, end.detail)));
    }
  }

 private:
  const std::string url_;
  Promise<FetchResponse> promise_;
  FetchResponse response_;
};

}  // namespace

HttpFetch NetFetch(net::TransportOptions options) {
  return [options](const FetchRequest& request, std::stop_token stop,
                   Deadline deadline) -> Result<FetchResponse> {
    net::Request wire{.method = request.method, .url = request.url};
    for (const auto& [name, value] : request.headers) wire.headers.Add(name, value);
    wire.body = Buffer::FromString(request.body);
    if (!request.bypass_proxy) {
      const std::size_t scheme_end = request.url.find("://");
      if (scheme_end != std::string::npos) {
        const std::string_view rest = std::string_view(request.url).substr(scheme_end + 3);
        wire.proxy = net::ProxyFor(std::string_view(request.url).substr(0, scheme_end),
                                   rest.substr(0, rest.find_first_of(":/")));
      }
    }
    net::LoopMetrics metrics;
    Exchange exchange(request.url);
    Pending<FetchResponse> pending = exchange.Begin();
    net::EventLoop loop(options, &metrics);
    loop.Post([&] { loop.Start(std::move(wire), &exchange); });
    return pending.Wait(stop, deadline);
  };
}

}  // namespace headrace::s3
