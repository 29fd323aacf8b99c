#include "s3/attempt.h"

#include <algorithm>

namespace headrace::s3 {
namespace {

// Ten attempts at an address where nobody listens then take about ten seconds, not half a minute.
constexpr Duration kLongestWaitForTheUnknown = std::chrono::seconds(2);

}  // namespace

AttemptMachine::AttemptMachine(const AttemptPolicy& policy, const AttemptContext& context)
    : policy_(policy), context_(context), retry_(policy.retry) {}

int AttemptMachine::LiveCount() const {
  return static_cast<int>(
      std::count_if(slots_.begin(), slots_.end(), [](const Attempt& a) { return a.live; }));
}

void AttemptMachine::SendIn(int slot, bool hedge, SteadyTime now, Actions& actions) {
  slots_[static_cast<std::size_t>(slot)] = {.live = true, .hedge = hedge, .last_change = now};
  ++attempts_;
  actions.send = slot;
  actions.send_is_hedge = hedge;
  hedge_at_ = MayHedge() ? now + context_.hedges->Threshold() : SteadyTime::max();
}

bool AttemptMachine::MayHedge() const { return policy_.hedge && !winner_ && hedges_ < kSlots - 1; }

void AttemptMachine::AbortAll(Actions& actions) {
  for (int i = 0; i < kSlots; ++i) {
    Attempt& attempt = slots_[static_cast<std::size_t>(i)];
    if (std::exchange(attempt.live, false)) actions.abort.push_back(i);
  }
}

AttemptMachine::Actions AttemptMachine::Finish(Outcome outcome, Actions actions) {
  AbortAll(actions);
  hedge_at_ = retry_at_ = SteadyTime::max();
  finished_ = true;
  actions.send.reset();
  actions.finish = outcome;
  return actions;
}

SteadyTime AttemptMachine::GiveUpAt() const { return last_progress_ + policy_.progress_timeout; }

AttemptMachine::Actions AttemptMachine::Start(SteadyTime now) {
  Actions actions;
  last_progress_ = looked_at_ = now;
  context_.hedges->OnRequest();
  SendIn(0, false, now, actions);
  return actions;
}

AttemptMachine::Actions AttemptMachine::OnGoodHead(int slot, SteadyTime now) {
  Actions actions;
  if (finished_) return actions;
  winner_ = slot;
  hedge_at_ = SteadyTime::max();
  Attempt& attempt = slots_[static_cast<std::size_t>(slot)];
  attempt.last_change = now;
  hedge_won_ = attempt.hedge;
  for (int i = 0; i < kSlots; ++i) {
    Attempt& other = slots_[static_cast<std::size_t>(i)];
    if (i != slot && std::exchange(other.live, false)) actions.abort.push_back(i);
  }
  return actions;
}

bool AttemptMachine::IsHedgeBesideOthers(int slot) const {
  const Attempt& attempt = slots_[static_cast<std::size_t>(slot)];
  return attempt.live && attempt.hedge && LiveCount() > 1;
}

AttemptMachine::Actions AttemptMachine::OnComplete(int slot) {
  if (finished_) return {};
  slots_[static_cast<std::size_t>(slot)].live = false;
  context_.retry_budget->OnSuccess();
  return Finish(Outcome::kSuccess, {});
}

AttemptMachine::Actions AttemptMachine::OnFailure(int slot, ErrorClass error_class,
                                                  Duration retry_after, bool advanced,
                                                  SteadyTime now, bool answered) {
  Actions actions;
  if (finished_) return actions;
  slots_[static_cast<std::size_t>(slot)].live = false;
  if (winner_ == slot) winner_.reset();
  if (error_class == ErrorClass::kFatal) return Finish(Outcome::kFailed, std::move(actions));
  if (error_class == ErrorClass::kThrottle) context_.hedges->OnThrottle(now);
  if (LiveCount() > 0) return actions;  // a racer is still under way
  hedge_at_ = SteadyTime::max();
  if (advanced) {
    retry_.MadeProgress();
    Progress(now);
  }
  std::optional<Duration> delay = retry_.Next(error_class, retry_after, *context_.random);
  if (!delay) return Finish(Outcome::kFailed, std::move(actions));
  if (!answered) *delay = std::min(*delay, kLongestWaitForTheUnknown);
  if (error_class == ErrorClass::kThrottle || error_class == ErrorClass::kTransient) {
    *delay += context_.retry_budget->Take(now);
  }
  retry_at_ = now + *delay;
  // Waiting past the limit would only delay the bad news.
  if (retry_at_ >= GiveUpAt()) return Finish(Outcome::kFailed, std::move(actions));
  return actions;
}

void AttemptMachine::SetBytesMoved(int slot, std::uint64_t bytes, SteadyTime now) {
  Attempt& attempt = slots_[static_cast<std::size_t>(slot)];
  if (!attempt.live || bytes == attempt.bytes) return;
  attempt.bytes = bytes;
  attempt.last_change = now;
  Progress(now);
}

AttemptMachine::Actions AttemptMachine::OnTimer(SteadyTime now) {
  Actions actions;
  if (finished_) return actions;
  looked_at_ = now;
  if (now >= GiveUpAt()) return Finish(Outcome::kTimedOut, std::move(actions));
  for (int i = 0; i < kSlots; ++i) {
    Attempt& attempt = slots_[static_cast<std::size_t>(i)];
    if (!attempt.live || now < attempt.last_change + policy_.idle_timeout) continue;
    Actions after = OnFailure(i, ErrorClass::kTransient, Duration::zero(), false, now);
    actions.abort.push_back(i);
    actions.silent.push_back(i);
    actions.abort.insert(actions.abort.end(), after.abort.begin(), after.abort.end());
    if (after.finish != Outcome::kNone) {
      actions.finish = Outcome::kTimedOut;
      return actions;
    }
  }
  if (now >= retry_at_) {
    retry_at_ = SteadyTime::max();
    SendIn(0, false, now, actions);
    return actions;
  }
  if (now >= hedge_at_ && MayHedge()) {
    const auto free =
        std::find_if(slots_.begin(), slots_.end(), [](const Attempt& a) { return !a.live; });
    if (free != slots_.end() && context_.hedges->TryHedge(now)) {
      ++hedges_;
      SendIn(static_cast<int>(free - slots_.begin()), true, now, actions);
    } else {
      hedge_at_ = now + context_.hedges->Threshold();  // ask again later
    }
  }
  return actions;
}

SteadyTime AttemptMachine::next_timer() const {
  if (finished_) return SteadyTime::max();
  SteadyTime next = std::min({hedge_at_, retry_at_, GiveUpAt()});
  for (const Attempt& attempt : slots_) {
    // Bytes are only counted when looked at, so look four times per timeout.
    if (attempt.live) {
      next = std::min({next, attempt.last_change + policy_.idle_timeout,
                       looked_at_ + policy_.idle_timeout / 4});
    }
  }
  return next;
}

}  // namespace headrace::s3
