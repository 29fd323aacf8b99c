#include "s3/engine.h"

#include <atomic>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace headrace::s3 {
namespace {

// Never gives any, and says when it was asked.
class EndlessProvider final : public CredentialsProvider {
 public:
  explicit EndlessProvider(std::atomic<bool>* asked) : asked_(*asked) {}
  Result<Credentials> Fetch(std::stop_token stop, Deadline /*deadline*/) override {
    asked_ = true;
    asked_.notify_all();
    std::unique_lock lock(mu_);
    std::condition_variable_any().wait(lock, stop, [] { return false; });
    return Status(StatusCode::kCancelled, "stopped");
  }
  std::string name() const override { return "nobody"; }

 private:
  std::atomic<bool>& asked_;
  std::mutex mu_;
};

class EngineTest : public testing::Test {
 protected:
  // Nothing listens there.
  std::unique_ptr<Engine> Make(std::unique_ptr<CredentialsProvider> credentials) {
    EngineOptions options;
    options.endpoint = *Endpoint::FromUrl("http://127.0.0.1:1", "us-east-1");
    options.credentials = std::move(credentials);
    options.policy.retry.max_attempts = 1;
    return std::make_unique<Engine>(std::move(options), &buffers_, &clock_);
  }

  RealClock clock_;
  BufferPool buffers_{1 << 20};
};

// The fetch calls back when the loop that asked for it is gone.
TEST_F(EngineTest, EndsWhileCredentialsAreBeingFetched) {
  std::atomic<bool> asked{false};
  std::unique_ptr<Engine> engine = Make(std::make_unique<EndlessProvider>(&asked));
  Pending<S3Reply> reply = engine->Submit({.bucket = "b", .key = "k"});
  asked.wait(false);
  engine.reset();
  EXPECT_EQ(reply.Wait().status().code(), StatusCode::kCancelled);
}

TEST_F(EngineTest, RefusesAHeaderThatWouldBecomeTwo) {
  using Header = std::pair<std::string, std::string>;
  const std::pair<Header, std::string> kCases[] = {
      {{"Content-Type", "text/plain\r\nx-amz-acl: public-read"}, "Content-Type"},
      {{"x-amz-meta-a\nx-amz-acl", "public-read"}, "x-amz-meta-a"},
      {{"x-amz-meta-b", std::string("a\0b", 3)}, "x-amz-meta-b"},
  };
  for (const bool anonymous : {true, false}) {
    std::unique_ptr<CredentialsProvider> keys;
    if (!anonymous) keys = std::make_unique<StaticCredentials>(Credentials{"id", "secret", "", {}});
    const std::unique_ptr<Engine> engine = Make(std::move(keys));
    for (const auto& [header, name] : kCases) {
      const Status status =
          engine
              ->Submit(
                  {.operation = Operation::kPut, .bucket = "b", .key = "k", .headers = {header}})
              .Wait()
              .status();
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.ToString();
      EXPECT_EQ(status.message(), "header " + name + " holds a line break or a NUL");
    }
  }
}

// Takes connections on every address of this machine and never says a word.
class SilentServer {
 public:
  SilentServer() {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    socklen_t size = sizeof any;
    auto* address = reinterpret_cast<sockaddr*>(&any);
    if (bind(fd_, address, size) != 0 || listen(fd_, 16) != 0) ADD_FAILURE();
    if (getsockname(fd_, address, &size) != 0) ADD_FAILURE();
    port_ = ntohs(any.sin_port);
  }
  ~SilentServer() { close(fd_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;
  int port() const { return port_; }

 private:
  const int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
};

// One request to a server that answers under two addresses, and on neither.
class SilenceTest : public testing::Test {
 protected:
  Status Ask(int attempts) {
    policy_.retry.max_attempts = attempts;
    policy_.idle_timeout = std::chrono::milliseconds(40);
    Dispatcher dispatcher({.resolver = &resolver_,
                           .credentials = nullptr,
                           .endpoints = &endpoints_,
                           .buffers = &buffers_,
                           .clock = &clock_,
                           .metrics = &metrics_,
                           .retry_budget = &retry_budget_,
                           .wire = &wire_,
                           .policy = &policy_,
                           .transport = {}},
                          {.fixed = 1}, 1);
    return dispatcher.Submit({.bucket = "b", .key = "k"}).Wait().status();
  }
  std::string Pick() {
    std::string picked;
    resolver_.Pick("silent.test", [&picked](Result<std::string> address) { picked = *address; });
    return picked;
  }
  std::uint64_t retries() {
    return metrics_.retries[static_cast<std::size_t>(ErrorClass::kTransient)].value();
  }

  RealClock clock_;
  BufferPool buffers_{1 << 20};
  EngineMetrics metrics_;
  RetryBudget retry_budget_;
  WireOptions wire_;
  AttemptPolicy policy_;
  SilentServer server_;
  net::Resolver resolver_{&clock_, [](const std::string&) -> Result<std::vector<std::string>> {
                            return std::vector<std::string>{"127.0.0.1", "127.0.0.2"};
                          }};
  BucketEndpoints endpoints_{
      *Endpoint::FromUrl("http://silent.test:" + std::to_string(server_.port()), "us-east-1")};
};

TEST_F(SilenceTest, TheAddressIsAvoided) {
  EXPECT_EQ(Ask(1).code(), StatusCode::kTimeout);
  EXPECT_EQ(Pick(), "127.0.0.2");
  EXPECT_EQ(Pick(), "127.0.0.2");
}

TEST_F(SilenceTest, TheNextAttemptCountsAsARetry) {
  EXPECT_EQ(Ask(2).code(), StatusCode::kTimeout);
  EXPECT_EQ(retries(), 1u);
}

}  // namespace
}  // namespace headrace::s3
