// What to do next for one request: the pure machine behind every S3 operation.
//
// A request is tried until an attempt brings the whole answer, the failure is final, or time runs
// out. A GET that is late with its first byte is hedged: a second attempt starts beside the first,
// then a third; the first of them to answer well wins and the others are aborted. The machine
// decides all this from events and times given to it. It owns no socket, no clock and no thread,
// and so every path through it is tested in microseconds.
//
//   event (what an attempt saw, or a timer)  ──▶  actions (send, abort, finish)
//
// Invariants:
//  - At most kSlots attempts live; each has a slot, and a slot is used again once its attempt
//  ended.
//  - Once an attempt answered well (OnGoodHead) it is the only one.
//  - Exactly one finish action is ever given, and no other action after it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "base/random.h"
#include "s3/flow.h"
#include "s3/retry.h"

namespace headrace::s3 {

inline constexpr int kSlots = 3;  // the first attempt and two hedges

struct AttemptPolicy {
  RetryOptions retry;
  Duration idle_timeout = std::chrono::seconds(20);      // without a byte: ends an attempt
  Duration progress_timeout = std::chrono::seconds(60);  // without progress: ends the operation
  bool hedge = false;
};

// Shared by all requests of a client to one endpoint; all outlive the machine.
struct AttemptContext {
  RetryBudget* retry_budget;
  HedgeControl* hedges;
  Random* random;
};

class AttemptMachine {
 public:
  enum class Outcome : std::uint8_t {
    kNone,
    kSuccess,   // the winning attempt's answer is whole
    kFailed,    // the last failure reported is the answer
    kTimedOut,  // a deadline passed; the last failure reported, if any, says why
  };
  struct Actions {
    std::optional<int> send;  // start an attempt in this slot
    bool send_is_hedge = false;
    std::vector<int> abort;
    std::vector<int> silent;  // of `abort`: those that the idle timeout ended
    Outcome finish = Outcome::kNone;
  };

  AttemptMachine(const AttemptPolicy& policy, const AttemptContext& context);

  // Once. Time spent waiting for this does not count as time without progress.
  Actions Start(SteadyTime now);
  // The answer of `slot` began, and well: its body follows.
  Actions OnGoodHead(int slot, SteadyTime now);
  // The answer is whole. REQUIRES: OnGoodHead(slot) came before.
  Actions OnComplete(int slot);
  // The attempt is over without a whole answer. `advanced`: it brought a good deal of what was
  // missing, and the next asks for the rest only; such attempts may be as many as it takes.
  // `answered`: the service is known to be there; who never was is not waited for as long.
  Actions OnFailure(int slot, ErrorClass error_class, Duration retry_after, bool advanced,
                    SteadyTime now, bool answered = true);
  // Whether `slot` is a hedge, and another attempt is under way.
  bool IsHedgeBesideOthers(int slot) const;
  // An attempt's request was sent so many times more than once.
  void CountResends(int resends) { attempts_ += resends; }
  // Bytes moved, in either direction, by the attempt in `slot` since it began.
  void SetBytesMoved(int slot, std::uint64_t bytes, SteadyTime now);
  Actions OnTimer(SteadyTime now);

  // When OnTimer wants to be called next. It may be called at any time.
  SteadyTime next_timer() const;

  int attempts() const { return attempts_; }  // sent so far, hedges and resends included
  bool hedge_won() const { return hedge_won_; }

 private:
  struct Attempt {
    bool live = false;
    bool hedge = false;
    SteadyTime last_change{};  // a byte moved, or the start
    std::uint64_t bytes = 0;
  };

  int LiveCount() const;
  void SendIn(int slot, bool hedge, SteadyTime now, Actions& actions);
  void AbortAll(Actions& actions);
  Actions Finish(Outcome outcome, Actions actions);
  void Progress(SteadyTime now) { last_progress_ = now; }
  // The operation's own limit: so long without progress.
  SteadyTime GiveUpAt() const;
  bool MayHedge() const;

  const AttemptPolicy policy_;
  const AttemptContext context_;
  RetryState retry_;
  std::array<Attempt, kSlots> slots_{};
  std::optional<int> winner_;
  SteadyTime last_progress_{};
  SteadyTime looked_at_{};  // when OnTimer last saw how many bytes had moved
  SteadyTime hedge_at_ = SteadyTime::max();
  SteadyTime retry_at_ = SteadyTime::max();
  int attempts_ = 0;
  int hedges_ = 0;
  bool hedge_won_ = false;
  bool finished_ = false;
};

}  // namespace headrace::s3
