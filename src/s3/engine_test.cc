#include "s3/engine.h"

#include <atomic>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>

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
    options.wire.policy.retry.max_attempts = 1;
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

}  // namespace
}  // namespace headrace::s3
