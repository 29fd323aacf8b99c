#include "net/event_loop.h"

#include <arpa/inet.h>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/pending.h"

namespace headrace::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A real server socket whose connections are each handed to `serve`, one after the other.
class RawServer {
 public:
  explicit RawServer(std::function<void(int fd)> serve)
      : listener_(socket(AF_INET, SOCK_STREAM, 0)), serve_(std::move(serve)) {
    sockaddr_in address{.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    socklen_t size = sizeof(address);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] {
      for (int fd = 0; (fd = accept(listener_, nullptr, nullptr)) >= 0;) {
        ++connections_;
        current_ = fd;
        serve_(fd);
        current_ = -1;
        close(fd);
      }
    });
  }
  ~RawServer() {
    shutdown(listener_, SHUT_RDWR);
    if (const int fd = current_; fd >= 0) shutdown(fd, SHUT_RDWR);  // the client keeps it open
    thread_.join();
    close(listener_);
  }
  const std::string& url() const { return url_; }
  int connections() const { return connections_; }

  // The head of the next request, or "" when the client closed.
  static std::string ReadHead(int fd) {
    std::string head;
    char c = 0;
    while (!head.ends_with("\r\n\r\n") && read(fd, &c, 1) == 1) head += c;
    return head;
  }
  static void Send(int fd, const std::string& text) {
    [[maybe_unused]] const ssize_t n = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  }

 private:
  int listener_;
  std::function<void(int)> serve_;
  std::string url_;
  std::atomic<int> connections_{0};
  std::atomic<int> current_{-1};
  std::thread thread_;
};

struct Answer {
  int status = 0;
  std::string etag;
  std::string body;
  TransferEnd end;
};

class Collector final : public ResponseHandler {
 public:
  explicit Collector(Promise<Answer> promise) : promise_(std::move(promise)) {}
  void OnHead(int status, const Headers& headers) override {
    answer_.status = status;
    answer_.etag = headers.Get("etag");
  }
  bool OnBody(std::span<const std::byte> bytes) override {
    answer_.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  }
  void OnEnd(const TransferEnd& end) override {
    answer_.end = end;
    promise_.Set(std::move(answer_));
    delete this;
  }

 private:
  Promise<Answer> promise_;
  Answer answer_;
};

class EventLoopTest : public testing::Test {
 protected:
  Answer Run(Request request) {
    auto [pending, promise] = MakePending<Answer>();
    auto* collector = new Collector(std::move(promise));
    loop_.Post([this, collector, r = std::move(request)]() mutable {
      loop_.Start(std::move(r), collector);
    });
    Result<Answer> answer = pending.Wait({}, Deadline::After(seconds(20)));
    EXPECT_TRUE(answer.ok()) << answer.status().ToString();
    return answer.ok() ? *answer : Answer{};
  }

  LoopMetrics metrics_;
  EventLoop loop_{TransportOptions{.connect_timeout = milliseconds(500)}, &metrics_};
};

TEST_F(EventLoopTest, GetsAndKeepsTheConnection) {
  std::string seen;
  RawServer server([&](int fd) {
    for (std::string head; !(head = RawServer::ReadHead(fd)).empty();) {
      seen = head;
      RawServer::Send(fd, "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 5\r\n\r\nhello");
    }
  });
  for (int i = 0; i < 3; ++i) {
    const Answer a = Run({.method = "GET", .url = server.url() + "/b/x/../y%20z"});
    EXPECT_EQ(a.status, 200);
    EXPECT_EQ(a.etag, "\"e\"");
    EXPECT_EQ(a.body, "hello");
  }
  EXPECT_EQ(server.connections(), 1);
  EXPECT_TRUE(seen.starts_with("GET /b/x/../y%20z HTTP/1.1\r\n")) << seen;
  EXPECT_EQ(seen.find("Accept"), std::string::npos) << seen;
}

TEST_F(EventLoopTest, PutSendsTheBodyWithItsLength) {
  std::string head;
  std::string body(100'000, '\0');
  RawServer server([&](int fd) {
    head = RawServer::ReadHead(fd);
    recv(fd, body.data(), body.size(), MSG_WAITALL);
    RawServer::Send(fd, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n");
  });
  Request request{.method = "PUT", .url = server.url() + "/b/k"};
  request.body = Buffer::FromString(std::string(100'000, 'x'));
  request.headers.Add("x-amz-meta-empty", "");
  EXPECT_EQ(Run(std::move(request)).status, 204);
  EXPECT_EQ(body, std::string(100'000, 'x'));
  EXPECT_NE(head.find("Content-Length: 100000\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("x-amz-meta-empty:\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("Expect"), std::string::npos) << head;
  EXPECT_EQ(head.find("Content-Type"), std::string::npos) << head;
}

TEST_F(EventLoopTest, BodyThatBreaksOffIsBroken) {
  RawServer server([&](int fd) {
    RawServer::ReadHead(fd);
    RawServer::Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  });
  const Answer a = Run({.method = "GET", .url = server.url()});
  EXPECT_EQ(a.end.kind, TransferEnd::Kind::kBroken);
  EXPECT_EQ(a.body, "half");
}

TEST_F(EventLoopTest, GarbageIsABadAnswer) {
  RawServer server([&](int fd) {
    RawServer::ReadHead(fd);
    RawServer::Send(fd, "220 mail.example ESMTP\r\n");
  });
  const Answer a = Run({.method = "GET", .url = server.url()});
  EXPECT_NE(a.end.kind, TransferEnd::Kind::kComplete);
}

TEST_F(EventLoopTest, RefusedConnectionNamesItself) {
  std::string url;
  {
    RawServer gone([](int) {});
    url = gone.url();
  }
  const Answer a = Run({.method = "GET", .url = url});
  EXPECT_EQ(a.end.kind, TransferEnd::Kind::kConnectFailed);
  EXPECT_FALSE(a.end.detail.empty());
}

// The answer got lost with a kept connection; the server may have acted on the request.
TEST_F(EventLoopTest, ARequestThatLibcurlSendsAgainIsCounted) {
  int requests = 0;
  RawServer server([&](int fd) {
    while (!RawServer::ReadHead(fd).empty() && ++requests != 2) {
      RawServer::Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
  });
  const Request put{.method = "PUT", .url = server.url()};
  EXPECT_EQ(Run(put).end.resends, 0);
  const Answer again = Run(put);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.end.resends, 1);
  EXPECT_EQ(requests, 3);
  EXPECT_EQ(Run(put).end.resends, 0);
}

TEST_F(EventLoopTest, PinnedAddressReplacesTheLookup) {
  RawServer server([](int fd) {
    RawServer::ReadHead(fd);
    RawServer::Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  const std::string port = server.url().substr(server.url().rfind(':'));
  const Answer a = Run({.method = "GET",
                        .url = "http://no-such-host.invalid" + port + "/",
                        .pinned_address = "127.0.0.1"});
  EXPECT_EQ(a.status, 200);
}

TEST_F(EventLoopTest, TimersRunInOrderAndCanBeCancelled) {
  auto [pending, promise] = MakePending<std::string>();
  auto order = std::make_shared<std::string>();
  loop_.Post([this, order, p = std::make_shared<Promise<std::string>>(std::move(promise))] {
    const SteadyTime now = std::chrono::steady_clock::now();
    loop_.At(now + milliseconds(20), [order, p] { p->Set(*order + "c"); });
    loop_.At(now + milliseconds(10), [order] { *order += "b"; });
    const auto id = loop_.At(now + milliseconds(5), [order] { *order += "never"; });
    loop_.At(now, [order] { *order += "a"; });
    loop_.CancelTimer(id);
  });
  EXPECT_EQ(*pending.Wait({}, Deadline::After(seconds(20))), "abc");
}

// Aborting in mid-body leaves no transfer and no connection behind; with a short rest the
// connection stays and serves the next request.
TEST_F(EventLoopTest, AbortClosesOrDrains) {
  struct Aborter final : ResponseHandler {
    EventLoop* loop = nullptr;
    EventLoop::TransferId id = 0;
    std::shared_ptr<Promise<int>> done;
    void OnHead(int, const Headers&) override {}
    bool OnBody(std::span<const std::byte>) override {
      loop->Abort(id);
      loop->Post([d = done] { d->Set(1); });
      return true;
    }
    void OnEnd(const TransferEnd&) override { ADD_FAILURE() << "OnEnd after Abort"; }
  };
  for (const bool short_rest : {true, false}) {
    RawServer server([&](int fd) {
      for (std::string head; !(head = RawServer::ReadHead(fd)).empty();) {
        if (head.starts_with("GET /long")) {
          const std::size_t length = short_rest ? 1000 : 100'000'000;
          RawServer::Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(length) +
                                  "\r\n\r\n" + std::string(500, 'x'));
          if (short_rest) RawServer::Send(fd, std::string(500, 'y'));
          if (!short_rest) break;
        } else {
          RawServer::Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
      }
    });
    auto [pending, promise] = MakePending<int>();
    Aborter aborter;
    aborter.loop = &loop_;
    aborter.done = std::make_shared<Promise<int>>(std::move(promise));
    loop_.Post([&] {
      aborter.id = loop_.Start({.method = "GET", .url = server.url() + "/long"}, &aborter);
    });
    ASSERT_TRUE(pending.Wait({}, Deadline::After(seconds(20))).ok());
    EXPECT_EQ(Run({.method = "GET", .url = server.url() + "/short"}).body, "ok");
    EXPECT_EQ(server.connections(), short_rest ? 1 : 2);
  }
}

// An attempt that is aborted because its answer stopped coming has a rest that never comes.
TEST_F(EventLoopTest, ARestThatDoesNotComeIsNotWaitedForForEver) {
  struct Aborter final : ResponseHandler {
    EventLoop* loop = nullptr;
    EventLoop::TransferId id = 0;
    void OnHead(int, const Headers&) override {}
    bool OnBody(std::span<const std::byte>) override {
      loop->Abort(id);
      return true;
    }
    void OnEnd(const TransferEnd&) override { ADD_FAILURE() << "OnEnd after Abort"; }
  };
  auto [closed, promise] = MakePending<int>();
  RawServer server([&, done = std::make_shared<Promise<int>>(std::move(promise))](int fd) {
    RawServer::ReadHead(fd);
    RawServer::Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome");
    RawServer::ReadHead(fd);  // returns when the client hangs up
    done->Set(1);
  });
  Aborter aborter;
  aborter.loop = &loop_;
  loop_.Post([&] { aborter.id = loop_.Start({.method = "GET", .url = server.url()}, &aborter); });
  EXPECT_TRUE(closed.Wait({}, Deadline::After(seconds(10))).ok());
  EXPECT_EQ(metrics_.connections_lost_to_abort.value(), 1U);
}

// The descriptors that this process's epolls watch.
std::vector<int> Watched() {
  std::vector<int> watched;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream file(entry.path());
    for (std::string word; file >> word;) {
      if (word != "tfd:") continue;
      watched.emplace_back();
      file >> watched.back();
    }
  }
  return watched;
}

// A forked child has the same sockets open; a duplicate stands for it.
TEST_F(EventLoopTest, AClosedConnectionIsForgottenThoughAnotherProcessHasIt) {
  std::vector<int> duplicates;
  RawServer server([&](int fd) {
    RawServer::ReadHead(fd);
    for (const int watched : Watched()) duplicates.push_back(dup(watched));
    RawServer::Send(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  const std::size_t before = Watched().size();
  EXPECT_EQ(Run({.method = "GET", .url = server.url()}).status, 200);
  EXPECT_EQ(duplicates.size(), before + 1);
  EXPECT_EQ(metrics_.connections.value(), 0);
  EXPECT_EQ(Watched().size(), before);
  for (const int fd : duplicates) close(fd);
}

// What a thread that the loop does not know of has to say when the loop is gone is dropped.
TEST(EventLoop, ItsMailboxOutlivesIt) {
  LoopMetrics metrics;
  auto loop = std::make_unique<EventLoop>(TransportOptions{}, &metrics);
  const std::shared_ptr<LoopMailbox> mailbox = loop->mailbox();
  auto [in_loop, promise] = MakePending<bool>();
  mailbox->Post(
      [&, p = std::make_shared<Promise<bool>>(std::move(promise))] { p->Set(mailbox->InLoop()); });
  EXPECT_TRUE(*in_loop.Wait());
  loop.reset();
  auto held = std::make_shared<int>();
  mailbox->Post([held] { ADD_FAILURE(); });
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(mailbox->InLoop());
}

TEST(EventLoop, EndsWithTransfersAndWorkUnderWay) {
  RawServer server([](int fd) {
    RawServer::ReadHead(fd);
    char c = 0;
    [[maybe_unused]] const ssize_t n = read(fd, &c, 1);  // never answers
  });
  struct Silent final : ResponseHandler {
    void OnHead(int, const Headers&) override {}
    bool OnBody(std::span<const std::byte>) override { return true; }
    void OnEnd(const TransferEnd&) override { ADD_FAILURE(); }
  } handler;
  LoopMetrics metrics;
  {
    EventLoop loop({}, &metrics);
    auto [pending, promise] = MakePending<int>();
    loop.Post([&, p = std::make_shared<Promise<int>>(std::move(promise))] {
      loop.Start({.method = "GET", .url = server.url()}, &handler);
      loop.At(std::chrono::steady_clock::now() + milliseconds(20), [p] { p->Set(1); });
    });
    ASSERT_TRUE(pending.Wait({}, Deadline::After(seconds(20))).ok());
  }
  EXPECT_EQ(metrics.connections.value(), 0);
}

// Bytes that come a few at a time on many connections are not worth a round each.
TEST_F(EventLoopTest, ManyTransfersAreLookedAtTogether) {
  constexpr int kConnections = 12;
  constexpr int kBytes = 150;
  std::mutex mu;
  std::vector<int> sockets;
  std::thread sender;
  const RawServer server([&](int fd) {
    RawServer::ReadHead(fd);
    RawServer::Send(fd,
                    "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kBytes) + "\r\n\r\n");
    std::lock_guard lock(mu);
    sockets.push_back(dup(fd));
    if (sockets.size() < kConnections) return;
    sender = std::thread([&] {
      for (int i = 0; i < kBytes * kConnections; ++i) {
        RawServer::Send(sockets[static_cast<std::size_t>(i % kConnections)], "x");
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
  });
  std::vector<Pending<Answer>> answers;
  std::vector<Collector*> collectors;
  for (int i = 0; i < kConnections; ++i) {
    auto [pending, promise] = MakePending<Answer>();
    answers.push_back(std::move(pending));
    collectors.push_back(new Collector(std::move(promise)));
  }
  const auto began = std::chrono::steady_clock::now();
  loop_.Post([&] {
    for (Collector* collector : collectors) loop_.Start({.url = server.url()}, collector);
  });
  for (Pending<Answer>& answer : answers) {
    EXPECT_EQ(answer.Wait({}, Deadline::After(seconds(20)))->body, std::string(kBytes, 'x'));
  }
  // A byte comes every 0.1 ms or so; on a busy machine it takes longer, and fewer rounds a ms.
  const auto took =
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
  EXPECT_LT(metrics_.rounds.value(), static_cast<std::uint64_t>(3 * took.count() + 50));
  sender.join();
  for (const int fd : sockets) close(fd);
}

}  // namespace
}  // namespace headrace::net
