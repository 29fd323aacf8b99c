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

}  // namespace
}  // namespace headrace::s3
