#include "s3/credentials_cache.h"

#include <atomic>
#include <chrono>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace headrace::s3 {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using Ptr = CredentialsCache::Ptr;

// Gives what the test puts in, one answer per fetch, and waits for it.
class ScriptedProvider : public CredentialsProvider {
 public:
  Result<Credentials> Fetch(std::stop_token stop, Deadline /*deadline*/) override {
    std::unique_lock lock(mu_);
    ++started_;
    changed_.notify_all();
    if (!changed_.wait(lock, stop, [this] { return !answers_.empty(); })) {
      return Status(StatusCode::kCancelled, "stopped");
    }
    Result<Credentials> answer = std::move(answers_.front());
    answers_.erase(answers_.begin());
    return answer;
  }
  std::string name() const override { return "the script"; }

  void Answer(Result<Credentials> answer) {
    std::lock_guard lock(mu_);
    answers_.push_back(std::move(answer));
    changed_.notify_all();
  }
  void WaitStarted(int n) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this, n] { return started_ >= n; });
  }

 private:
  std::mutex mu_;
  std::condition_variable_any changed_;
  std::vector<Result<Credentials>> answers_;
  int started_ = 0;
};

class CredentialsCacheTest : public testing::Test {
 protected:
  CredentialsCacheTest() {
    auto provider = std::make_unique<ScriptedProvider>();
    provider_ = provider.get();
    cache_ = std::make_unique<CredentialsCache>(std::move(provider), &clock_);
  }
  Credentials Made(const std::string& id, seconds lifetime) {
    return {id, "secret", "token", clock_.WallNow() + lifetime};
  }
  std::future<Result<Ptr>> Async() {
    auto promise = std::make_shared<std::promise<Result<Ptr>>>();
    cache_->GetAsync([promise](Result<Ptr> result) { promise->set_value(std::move(result)); });
    return promise->get_future();
  }
  std::string Id() {
    Result<Ptr> result = Async().get();
    return result.ok() ? (*result)->access_key_id : result.status().ToString();
  }
  // Until the background fetch has been published; a fetch has no callback to wait for.
  std::string IdOnceItIs(const std::string& id) {
    const auto end = std::chrono::steady_clock::now() + seconds(60);
    while (cache_->Get()->access_key_id != id && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    return cache_->Get()->access_key_id;
  }

  FakeClock clock_;
  ScriptedProvider* provider_;
  std::unique_ptr<CredentialsCache> cache_;
};

TEST_F(CredentialsCacheTest, FetchesOnceForAll) {
  EXPECT_EQ(cache_->Get(), nullptr);
  std::vector<std::future<Result<Ptr>>> all;
  for (int i = 0; i < 50; ++i) all.push_back(Async());
  provider_->Answer(Made("A", seconds(3600)));
  for (auto& one : all) EXPECT_EQ((*one.get())->access_key_id, "A");
  EXPECT_EQ(Id(), "A");
  EXPECT_EQ(cache_->Get()->access_key_id, "A");
  EXPECT_EQ(cache_->fetches(), 1u);
}

// REPORTS client-11: about one call per token lifetime.
TEST_F(CredentialsCacheTest, RenewsAheadWhileTheOldOnesServe) {
  provider_->Answer(Made("A", seconds(20)));
  EXPECT_EQ(Id(), "A");
  clock_.Advance(seconds(15));
  EXPECT_EQ(cache_->Get()->access_key_id, "A");
  EXPECT_EQ(cache_->fetches(), 1u);
  clock_.Advance(seconds(2));  // within the last fifth of the lifetime
  EXPECT_EQ(cache_->Get()->access_key_id, "A");
  provider_->WaitStarted(2);
  EXPECT_EQ(cache_->Get()->access_key_id, "A");
  EXPECT_EQ(Id(), "A");
  provider_->Answer(Made("B", seconds(20)));
  EXPECT_EQ(IdOnceItIs("B"), "B");
  EXPECT_EQ(cache_->fetches(), 2u);
}

TEST_F(CredentialsCacheTest, LongLivedOnesAreRenewedFiveMinutesAhead) {
  provider_->Answer(Made("A", std::chrono::hours(6)));
  EXPECT_EQ(Id(), "A");
  clock_.Advance(std::chrono::hours(6) - std::chrono::minutes(6));
  cache_->Get();
  EXPECT_EQ(cache_->fetches(), 1u);
  clock_.Advance(std::chrono::minutes(2));
  cache_->Get();
  provider_->WaitStarted(2);
}

TEST_F(CredentialsCacheTest, ExpiredOnesAreNotGivenOut) {
  provider_->Answer(Made("A", seconds(20)));
  EXPECT_EQ(Id(), "A");
  clock_.Advance(seconds(20));
  EXPECT_EQ(cache_->Get(), nullptr);
  provider_->Answer(Made("B", seconds(20)));
  EXPECT_EQ(Id(), "B");
}

TEST_F(CredentialsCacheTest, OnesWithoutEndAreKept) {
  provider_->Answer(Credentials{"A", "secret", "", std::nullopt});
  EXPECT_EQ(Id(), "A");
  clock_.Advance(std::chrono::hours(10'000));
  EXPECT_EQ(Id(), "A");
  EXPECT_EQ(cache_->fetches(), 1u);
}

TEST_F(CredentialsCacheTest, RefusedOnesAreReplaced) {
  provider_->Answer(Made("A", seconds(3600)));
  const Ptr a = *Async().get();
  cache_->Invalidate(*a);
  EXPECT_EQ(cache_->Get(), nullptr);
  provider_->Answer(Made("B", seconds(3600)));
  EXPECT_EQ(Id(), "B");
  cache_->Invalidate(*a);  // late news of the old ones
  EXPECT_EQ(cache_->Get()->access_key_id, "B");
  EXPECT_EQ(cache_->fetches(), 2u);
}

TEST_F(CredentialsCacheTest, TheSameOnesAgainAreAnErrorAtOnce) {
  const Credentials fixed{"A", "secret", "token", std::nullopt};
  provider_->Answer(fixed);
  const Ptr a = *Async().get();
  cache_->Invalidate(*a);
  provider_->Answer(fixed);
  EXPECT_THAT(Id(), HasSubstr("credentials expired: the server refused those of the script"));
  EXPECT_THAT(Id(), HasSubstr("credentials expired"));  // within the backoff: not fetched again
  EXPECT_EQ(cache_->fetches(), 2u);
}

TEST_F(CredentialsCacheTest, FailuresAreTypedAndNotHammered) {
  provider_->Answer(Status(StatusCode::kUnreachable, "no route"));
  Result<Ptr> failed = Async().get();
  EXPECT_EQ(failed.status().code(), StatusCode::kCredentials);
  EXPECT_EQ(failed.status().message(), "no credentials from the script: no route");
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Id(), HasSubstr("no route"));
  EXPECT_EQ(cache_->fetches(), 1u);
  clock_.Advance(seconds(1));
  provider_->Answer(Status(StatusCode::kCredentials, "denied"));
  EXPECT_THAT(Id(), HasSubstr("denied"));
  clock_.Advance(seconds(1));
  EXPECT_THAT(Id(), HasSubstr("denied"));  // the second wait is longer
  EXPECT_EQ(cache_->fetches(), 2u);
  clock_.Advance(seconds(1));
  provider_->Answer(Made("A", seconds(3600)));
  EXPECT_EQ(Id(), "A");
}

TEST_F(CredentialsCacheTest, AFailedRenewalLeavesTheOldOnesInForce) {
  provider_->Answer(Made("A", seconds(100)));
  EXPECT_EQ(Id(), "A");
  clock_.Advance(seconds(90));
  provider_->Answer(Status(StatusCode::kCredentials, "denied"));
  cache_->Get();
  while (cache_->fetching()) std::this_thread::yield();
  EXPECT_EQ(cache_->fetches(), 2u);
  EXPECT_EQ(Id(), "A");
  clock_.Advance(seconds(10));
  EXPECT_EQ(cache_->Get(), nullptr);
  provider_->Answer(Made("B", seconds(100)));
  EXPECT_EQ(Id(), "B");
}

TEST_F(CredentialsCacheTest, ExpiredOnArrivalIsAnError) {
  provider_->Answer(Made("A", seconds(0)));
  EXPECT_THAT(Id(),
              HasSubstr("credentials expired: the script gave some that ended at 2023-11-14"));
}

TEST_F(CredentialsCacheTest, DestructionStopsAFetchAndAnswersTheWaiting) {
  std::future<Result<Ptr>> waiting = Async();
  provider_->WaitStarted(1);
  cache_.reset();
  EXPECT_EQ(waiting.get().status().code(), StatusCode::kCancelled);
}

TEST_F(CredentialsCacheTest, ManyThreadsSeeWholeCredentials) {
  std::atomic<bool> stop = false;
  std::atomic<int> torn = 0;
  std::vector<std::jthread> threads;
  provider_->Answer(Made("0", seconds(3600)));
  EXPECT_EQ(Id(), "0");
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        cache_->GetAsync([&](Result<Ptr> result) {
          if (result.ok() && (*result)->secret_access_key != "secret") ++torn;
        });
      }
    });
  }
  for (int i = 1; i < 50; ++i) {
    cache_->Invalidate(*cache_->Get());
    provider_->Answer(Made(std::to_string(i), seconds(3600)));
    EXPECT_EQ(Id(), std::to_string(i));
  }
  stop = true;
  threads.clear();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(cache_->fetches(), 50u);
}

}  // namespace
}  // namespace headrace::s3
