// The least that libcurl costs: GETs of presigned URLs into memory, so many at once, on one thread.
//
// Speaks the protocol of bench/runners/common.py: one JSON object as its argument, "begin" and
// "end" lines on standard output. Nothing of the engine runs in the measured time; it only signs
// the URLs beforehand.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <curl/curl.h>
#include <fmt/format.h>
#include <memory>
#include <random>
#include <string>
#include <sys/epoll.h>
#include <vector>

#include <nlohmann/json.hpp>

#include "s3/endpoint.h"
#include "s3/sign.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Transfer {
  CURL* easy = nullptr;
  std::vector<char> body;
  std::size_t received = 0;
};

std::size_t OnBody(char* data, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.received + size > transfer.body.size()) return 0;
  std::memcpy(transfer.body.data() + transfer.received, data, size);
  transfer.received += size;
  return size;
}

int OnSocket(CURL*, curl_socket_t fd, int what, void* epoll, void*) {
  const int ep = *static_cast<int*>(epoll);
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(ep, EPOLL_CTL_DEL, fd, nullptr);
    return 0;
  }
  epoll_event event{};
  event.events = (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
  event.data.fd = fd;
  if (epoll_ctl(ep, EPOLL_CTL_MOD, fd, &event) != 0) epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);
  return 0;
}

int OnTimer(CURLM*, long ms, void* due) {
  *static_cast<long*>(due) = ms;
  return 0;
}

std::vector<std::string> PresignedUrls(const nlohmann::json& cell) {
  namespace s3 = headrace::s3;
  const auto endpoint = s3::Endpoint::FromUrl(cell.at("endpoint").get<std::string>(), "us-east-1");
  const s3::Credentials credentials{cell.at("access_key"), cell.at("secret_key"), "", std::nullopt};
  s3::Signer signer;
  std::vector<std::string> urls;
  for (int i = 0; i < cell.at("count").get<int>(); ++i) {
    const std::string key = fmt::format("{}{:0{}}", cell.at("prefix").get<std::string>(), i,
                                        cell.at("digits").get<int>());
    const s3::Target target = endpoint->For(cell.at("bucket").get<std::string>(), key);
    const auto query = signer.Presign(
        {.method = "GET", .host = target.host_header, .path = target.path}, credentials,
        {.region = "us-east-1"}, std::chrono::system_clock::now(), std::chrono::seconds(86'400));
    urls.push_back(fmt::format("http://{}{}?{}", target.host_header, target.path, *query));
  }
  return urls;
}

int Run(const nlohmann::json& cell) {
  const std::vector<std::string> urls = PresignedUrls(cell);
  const auto size = cell.at("size").get<std::size_t>();
  const double warmup = cell.at("warmup");
  const double seconds = cell.at("seconds");
  int epoll = epoll_create1(0);
  long due = -1;
  CURLM* multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, OnSocket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, &epoll);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, OnTimer);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &due);

  std::mt19937 random(0);
  auto next = [&](Transfer& transfer) {
    transfer.received = 0;
    curl_easy_setopt(transfer.easy, CURLOPT_URL, urls[random() % urls.size()].c_str());
    curl_multi_add_handle(multi, transfer.easy);
  };
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (int i = 0; i < cell.at("in_flight").get<int>(); ++i) {
    auto& transfer = *transfers.emplace_back(std::make_unique<Transfer>());
    transfer.body.resize(size);
    transfer.easy = curl_easy_init();
    curl_easy_setopt(transfer.easy, CURLOPT_WRITEFUNCTION, OnBody);
    curl_easy_setopt(transfer.easy, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(transfer.easy, CURLOPT_PRIVATE, &transfer);
    curl_easy_setopt(transfer.easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(transfer.easy, CURLOPT_BUFFERSIZE,
                     size < 1'000'000 ? 100L * 1024 : 512L * 1024);
    curl_easy_setopt(transfer.easy, CURLOPT_FAILONERROR, 1L);
    next(transfer);
  }
  const auto start = Clock::now();
  auto since = [](Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
  };
  Clock::time_point began{};
  std::uint64_t units = 0;
  std::uint64_t bytes = 0;
  while (true) {
    int running = 0;
    std::array<epoll_event, 256> events{};
    const int n =
        epoll_wait(epoll, events.data(), static_cast<int>(events.size()), static_cast<int>(due));
    if (n == 0) {
      due = -1;
      curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    for (int i = 0; i < n; ++i) {
      const auto& e = events[static_cast<std::size_t>(i)];
      const int mask = (e.events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                       (e.events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                       (e.events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
      curl_multi_socket_action(multi, e.data.fd, mask, &running);
    }
    if (began == Clock::time_point{} && since(start) >= warmup) {
      fmt::print("{{\"event\": \"begin\"}}\n");
      std::fflush(stdout);
      began = Clock::now();
    }
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      if (message->data.result != CURLE_OK || transfer->received != size) {
        fmt::print(stderr, "{}\n", curl_easy_strerror(message->data.result));
        return 1;
      }
      curl_multi_remove_handle(multi, transfer->easy);
      if (began != Clock::time_point{}) {
        ++units;
        bytes += transfer->received;
        if (since(began) >= seconds) {
          fmt::print("{{\"event\": \"end\", \"units\": {}, \"bytes\": {}, \"seconds\": {}}}\n",
                     units, bytes, since(began));
          std::fflush(stdout);
          return 0;
        }
      }
      next(*transfer);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "libcurl_loop: run by bench/run\n");
    return 2;
  }
  return Run(nlohmann::json::parse(argv[1]));
}
