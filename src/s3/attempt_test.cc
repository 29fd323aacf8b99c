#include "s3/attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::s3 {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Outcome = AttemptMachine::Outcome;

class AttemptTest : public testing::Test {
 protected:
  AttemptMachine Make(bool hedge = true) {
    AttemptPolicy policy;
    policy.hedge = hedge;
    return Make(policy);
  }
  AttemptMachine Make(const AttemptPolicy& policy) {
    return AttemptMachine(policy, {&budget_, &hedges_, &random_});
  }
  // A service whose first bytes take 30 ms, known well enough to hedge; allowance for several
  // hedges.
  void KnowTheService() {
    for (int i = 0; i < 100; ++i) {
      hedges_.OnRequest();
      hedges_.OnFirstByte(milliseconds(30));
    }
  }
  AttemptMachine::Actions FireTimer(AttemptMachine& machine) {
    now_ = std::max(now_, machine.next_timer());
    return machine.OnTimer(now_);
  }

  SteadyTime now_{seconds(100)};
  RetryBudget budget_;
  HedgeControl hedges_;
  Random random_{1};
};

TEST_F(AttemptTest, OneGoodAnswerIsOneAttempt) {
  AttemptMachine machine = Make();
  EXPECT_EQ(machine.Start(now_).send, 0);
  EXPECT_THAT(machine.OnGoodHead(0, now_).abort, IsEmpty());
  const auto end = machine.OnComplete(0);
  EXPECT_EQ(end.finish, Outcome::kSuccess);
  EXPECT_THAT(end.abort, IsEmpty());
  EXPECT_EQ(machine.attempts(), 1);
  EXPECT_EQ(machine.next_timer(), SteadyTime::max());
}

TEST_F(AttemptTest, LateFirstByteIsHedgedTwiceAndTheFirstAnswerWins) {
  KnowTheService();
  AttemptMachine machine = Make();
  machine.Start(now_);
  EXPECT_EQ(machine.next_timer(), now_ + milliseconds(30));
  auto first = FireTimer(machine);
  EXPECT_EQ(first.send, 1);
  EXPECT_TRUE(first.send_is_hedge);
  EXPECT_EQ(FireTimer(machine).send, 2);
  EXPECT_FALSE(FireTimer(machine).send.has_value());  // two hedges, no more
  EXPECT_THAT(machine.OnGoodHead(1, now_).abort, UnorderedElementsAre(0, 2));
  EXPECT_TRUE(machine.hedge_won());
  EXPECT_EQ(machine.OnComplete(1).finish, Outcome::kSuccess);
  EXPECT_EQ(machine.attempts(), 3);
}

TEST_F(AttemptTest, AHedgeThatCannotBeSentDoesNotEndTheRequest) {
  KnowTheService();
  AttemptMachine machine = Make();
  machine.Start(now_);
  const auto hedge = FireTimer(machine);
  ASSERT_TRUE(hedge.send_is_hedge);
  EXPECT_FALSE(machine.IsHedgeBesideOthers(0));
  ASSERT_TRUE(machine.IsHedgeBesideOthers(*hedge.send));
  // What its owner makes of it, then; a refusal by the service stays fatal.
  const auto failed = machine.OnFailure(*hedge.send, ErrorClass::kTransient, {}, false, now_, true);
  EXPECT_EQ(failed.finish, Outcome::kNone);
  machine.OnGoodHead(0, now_);
  EXPECT_EQ(machine.OnComplete(0).finish, Outcome::kSuccess);
}

TEST_F(AttemptTest, NoHedgeOnceTheAnswerBegan) {
  KnowTheService();
  AttemptMachine machine = Make();
  machine.Start(now_);
  machine.OnGoodHead(0, now_);
  now_ += milliseconds(100);
  EXPECT_FALSE(machine.OnTimer(now_).send.has_value());
}

TEST_F(AttemptTest, NoHedgeWhileTheServiceThrottles) {
  KnowTheService();
  AttemptMachine other = Make();
  other.Start(now_);
  other.OnFailure(0, ErrorClass::kThrottle, Duration::zero(), false, now_);
  AttemptMachine machine = Make();
  machine.Start(now_);
  EXPECT_FALSE(FireTimer(machine).send.has_value());
  EXPECT_EQ(machine.attempts(), 1);
}

TEST_F(AttemptTest, NotHedgedUnlessAsked) {
  KnowTheService();
  AttemptMachine machine = Make(false);
  machine.Start(now_);
  now_ += seconds(1);
  EXPECT_FALSE(machine.OnTimer(now_).send.has_value());
}

TEST_F(AttemptTest, AFailedRacerLeavesTheOthersRunning) {
  KnowTheService();
  AttemptMachine machine = Make();
  machine.Start(now_);
  FireTimer(machine);
  const auto after = machine.OnFailure(0, ErrorClass::kTransient, Duration::zero(), false, now_);
  EXPECT_EQ(after.finish, Outcome::kNone);
  EXPECT_FALSE(after.send.has_value());
  EXPECT_THAT(machine.OnGoodHead(1, now_).abort, IsEmpty());
}

TEST_F(AttemptTest, FatalFailureEndsAtOnceAndAbortsTheOthers) {
  KnowTheService();
  AttemptMachine machine = Make();
  machine.Start(now_);
  FireTimer(machine);
  const auto end = machine.OnFailure(1, ErrorClass::kFatal, Duration::zero(), false, now_);
  EXPECT_EQ(end.finish, Outcome::kFailed);
  EXPECT_THAT(end.abort, ElementsAre(0));
}

TEST_F(AttemptTest, TransientFailuresAreRetriedUntilAttemptsRunOut) {
  AttemptPolicy policy;
  policy.retry.max_attempts = 3;
  AttemptMachine machine = Make(policy);
  machine.Start(now_);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(machine.OnFailure(0, ErrorClass::kTransient, Duration::zero(), false, now_).finish,
              Outcome::kNone);
    EXPECT_EQ(FireTimer(machine).send, 0);
  }
  EXPECT_EQ(machine.OnFailure(0, ErrorClass::kTransient, Duration::zero(), false, now_).finish,
            Outcome::kFailed);
  EXPECT_EQ(machine.attempts(), 3);
}

TEST_F(AttemptTest, WhoNeverAnsweredIsNotWaitedForAsLong) {
  Duration longest_known{};
  for (const bool answered : {true, false}) {
    for (int run = 0; run < 20; ++run) {
      AttemptMachine machine = Make(false);
      machine.Start(now_);
      const SteadyTime start = now_;
      while (machine.OnFailure(0, ErrorClass::kTransient, Duration::zero(), false, now_, answered)
                 .finish == Outcome::kNone) {
        FireTimer(machine);
      }
      EXPECT_EQ(machine.attempts(), 10);
      if (answered) {
        longest_known = std::max(longest_known, now_ - start);
      } else {
        EXPECT_LE(now_ - start, seconds(12));
      }
    }
  }
  EXPECT_GT(longest_known, seconds(20));
}

TEST_F(AttemptTest, BrokenBodyThatBroughtBytesGoesOnForLong) {
  AttemptPolicy policy;
  policy.retry.max_attempts = 3;
  AttemptMachine machine = Make(policy);
  machine.Start(now_);
  for (int i = 0; i < 20; ++i) {
    machine.OnGoodHead(0, now_);
    ASSERT_EQ(machine.OnFailure(0, ErrorClass::kTransient, Duration::zero(), true, now_).finish,
              Outcome::kNone);
    ASSERT_EQ(FireTimer(machine).send, 0);
  }
}

TEST_F(AttemptTest, AnswersThatBeginAndBreakOffAreNoProgress) {
  AttemptPolicy policy;
  policy.retry.max_attempts = 1'000'000;
  AttemptMachine machine = Make(policy);
  machine.Start(now_);
  const SteadyTime start = now_;
  AttemptMachine::Actions actions;
  while (actions.finish == Outcome::kNone) {
    machine.OnGoodHead(0, now_);
    actions = machine.OnFailure(0, ErrorClass::kTransient, Duration::zero(), false, now_);
    if (actions.finish == Outcome::kNone) actions = FireTimer(machine);
    ASSERT_LE(now_ - start, policy.progress_timeout);
  }
}

TEST_F(AttemptTest, SilenceForTheIdleTimeoutEndsAnAttemptNotTheOperation) {
  AttemptMachine machine = Make(false);
  machine.Start(now_);
  const SteadyTime start = now_;
  AttemptMachine::Actions actions;
  while (actions.abort.empty()) actions = FireTimer(machine);
  EXPECT_GE(now_ - start, seconds(20));
  EXPECT_LE(now_ - start, seconds(25));
  EXPECT_THAT(actions.abort, ElementsAre(0));
  EXPECT_THAT(actions.silent, ElementsAre(0));
  EXPECT_EQ(actions.finish, Outcome::kNone);
  EXPECT_EQ(FireTimer(machine).send, 0);
}

TEST_F(AttemptTest, SlowButMovingBytesKeepAnAttemptAlive) {
  AttemptMachine machine = Make(false);
  machine.Start(now_);
  machine.OnGoodHead(0, now_);
  for (std::uint64_t bytes = 1; bytes < 100; ++bytes) {
    machine.SetBytesMoved(0, bytes, machine.next_timer());
    const auto actions = FireTimer(machine);
    ASSERT_THAT(actions.abort, IsEmpty());
    ASSERT_EQ(actions.finish, Outcome::kNone);
  }
}

TEST_F(AttemptTest, NoProgressForAMinuteEndsTheOperation) {
  AttemptMachine machine = Make(false);
  machine.Start(now_);
  const SteadyTime start = now_;
  AttemptMachine::Actions actions;
  while (actions.finish == Outcome::kNone) actions = FireTimer(machine);
  EXPECT_EQ(actions.finish, Outcome::kTimedOut);
  EXPECT_LE(now_ - start, seconds(61));
}

TEST_F(AttemptTest, TimeWithoutProgressEndsTheOperation) {
  AttemptPolicy policy;
  policy.progress_timeout = seconds(2);
  AttemptMachine machine = Make(policy);
  machine.Start(now_);
  EXPECT_EQ(machine.next_timer(), now_ + seconds(2));
  const auto end = FireTimer(machine);
  EXPECT_EQ(end.finish, Outcome::kTimedOut);
  EXPECT_THAT(end.abort, ElementsAre(0));
}

TEST_F(AttemptTest, ARetryThatWouldComeTooLateIsNotWaitedFor) {
  AttemptPolicy policy;
  policy.progress_timeout = seconds(2);
  AttemptMachine machine = Make(policy);
  machine.Start(now_);
  EXPECT_EQ(machine.OnFailure(0, ErrorClass::kThrottle, seconds(5), false, now_).finish,
            Outcome::kFailed);
}

TEST_F(AttemptTest, AnEmptyRetryBudgetDelaysARetry) {
  while (budget_.Take(now_) == Duration::zero()) {
  }
  AttemptMachine machine = Make(false);
  machine.Start(now_);
  EXPECT_EQ(machine.OnFailure(0, ErrorClass::kTransient, Duration::zero(), false, now_).finish,
            Outcome::kNone);
  EXPECT_GT(machine.next_timer(), now_ + milliseconds(20));
}

// A full queue may keep a request for minutes before it is sent.
TEST_F(AttemptTest, WaitingToStartIsNoLackOfProgress) {
  AttemptMachine machine = Make();
  now_ += std::chrono::minutes(10);
  machine.Start(now_);
  EXPECT_GT(machine.next_timer(), now_);
  EXPECT_EQ(machine.OnTimer(now_ + seconds(1)).finish, Outcome::kNone);
}

}  // namespace
}  // namespace headrace::s3
