#include "object/get_many.h"

#include <algorithm>
#include <chrono>

namespace headrace::object {
namespace {

// Small objects vary: planning for less than this would save little.
constexpr std::uint64_t kLeastPlanned = std::uint64_t{256} << 10;

// While so many are under way, several results are waited for at once, for so long at most: being
// woken for each of a stream of results costs more than the results do.
constexpr int kManyActive = 16;
constexpr int kMostAwaited = 32;
constexpr auto kLongestAwaited = std::chrono::milliseconds(5);

}  // namespace

GetMany::GetMany(const Context* context, std::vector<FetchItem> items, GetManyOptions options)
    : context_(*context),
      options_(options),
      share_(options.ahead ? Share::kLookAhead : Share::kReads),
      items_(std::move(items)),
      fetches_(items_.size()),
      finished_(items_.size()) {
  for (std::size_t i = 0; i < items_.size(); ++i) waiting_.insert(waiting_.end(), i);
  StartWhatFits();
}

std::unique_ptr<Fetch> GetMany::MakeFetch(std::size_t index) const {
  const std::uint64_t part = context_.options.part_size;
  const std::uint64_t expected =
      expected_ == 0 ? part : std::max(expected_, std::min(kLeastPlanned, part));
  return std::make_unique<Fetch>(&context_, items_[index], expected);
}

void GetMany::StartWhatFits() {
  while (!waiting_.empty()) {
    if (options_.max_in_flight > 0 && active_ >= options_.max_in_flight) return;
    const std::size_t index = *waiting_.begin();
    std::unique_ptr<Fetch> fetch = MakeFetch(index);
    // An eighth stays for single reads, of this thread perhaps, while this batch waits to be taken.
    const std::size_t spare = context_.budget->limit(share_) / 8;
    std::optional<Lease> lease = context_.budget->TryAcquire(share_, fetch->bytes_needed(), spare);
    if (!lease) return;
    Start(index, std::move(fetch), std::move(*lease));
  }
}

void GetMany::Start(std::size_t index, std::unique_ptr<Fetch> fetch, Lease lease) {
  waiting_.erase(index);
  ++active_;
  ++holding_;
  fetches_[index] = std::move(fetch);
  fetches_[index]->Start(std::move(lease), &done_, index);
}

void GetMany::PutBack(std::size_t index, FetchItem item) {
  if (finished_[index]) {
    finished_[index] = false;
  } else {
    --active_;
  }
  --holding_;
  fetches_[index].reset();
  items_[index] = std::move(item);
  waiting_.insert(index);
}

// Memory for a result that turned out longer than planned: what is free, or what the last of the
// fetches behind it hold.
std::optional<Lease> GetMany::MakeRoom(std::size_t index) {
  const std::size_t bytes = fetches_[index]->bytes_needed();
  std::optional<Lease> lease = context_.budget->TryAcquire(share_, bytes);
  for (std::size_t last = items_.size() - 1; !lease && last > index; --last) {
    if (fetches_[last] == nullptr || finished_[last]) continue;
    PutBack(last, items_[last]);
    lease = context_.budget->TryAcquire(share_, bytes);
  }
  return lease;
}

// Nothing is under way, and nothing can be given out: the next result lacks memory.
Status GetMany::WaitForMemory(const std::stop_token& stop) {
  if (holding_ > 0) {
    // Later results stand in its way. Memory is waited for with none in hand (base/budget.h).
    std::size_t last = items_.size() - 1;
    while (fetches_[last] == nullptr) --last;
    PutBack(last, items_[last]);
    return {};
  }
  const std::size_t index = *waiting_.begin();
  std::unique_ptr<Fetch> fetch = MakeFetch(index);
  Result<Lease> lease = context_.budget->Acquire(share_, fetch->bytes_needed(), stop);
  if (!lease.ok()) return lease.status();
  Start(index, std::move(fetch), std::move(*lease));
  return {};
}

// A few results forget a large one, so that it does not keep the small ones behind it few at once.
void GetMany::LearnLength(std::uint64_t length) {
  expected_ = std::max(length, expected_ - expected_ / 4);
}

void GetMany::Advance(std::size_t index) {
  Fetch* fetch = fetches_[index].get();
  if (fetch == nullptr || finished_[index]) return;
  switch (fetch->Advance()) {
    case Fetch::Step::kUnderWay:
      return;
    case Fetch::Step::kOutgrown:
      LearnLength(fetch->length().value_or(0));
      if (std::optional<Lease> lease = MakeRoom(index)) {
        fetch->Resume(std::move(*lease));
      } else {
        PutBack(index, fetch->OutgrownItem());
      }
      return;
    case Fetch::Step::kDone:
      LearnLength(fetch->length().value_or(0));
      finished_[index] = true;
      if (!options_.ordered) finished_order_.push_back(index);
      --active_;
  }
}

std::optional<std::size_t> GetMany::NextToDeliver() const {
  if (options_.ordered) {
    return finished_[delivered_] ? std::optional(delivered_) : std::nullopt;
  }
  return finished_order_.empty() ? std::nullopt : std::optional(finished_order_.front());
}

GetMany::Item GetMany::Deliver(std::size_t index) {
  if (!options_.ordered) finished_order_.pop_front();
  Item item{index, fetches_[index]->Take()};
  fetches_[index].reset();
  --holding_;
  ++delivered_;
  StartWhatFits();
  return item;
}

bool GetMany::Ready() {
  if (delivered_ == items_.size()) return false;
  while (!NextToDeliver() && !done_.Empty()) Advance(*done_.Next());
  return NextToDeliver().has_value();
}

std::optional<GetMany::Item> GetMany::Next(const std::stop_token& stop) {
  if (delivered_ == items_.size()) return std::nullopt;
  share_ = Share::kReads;  // somebody waits now
  while (true) {
    if (const std::optional<std::size_t> index = NextToDeliver()) return Deliver(*index);
    StartWhatFits();
    if (active_ == 0) {
      if (const Status status = WaitForMemory(stop); !status.ok()) {
        return Item{*waiting_.begin(), status};
      }
      continue;
    }
    const std::optional<std::size_t> ready = WaitForOne(stop);
    if (!ready) return Item{delivered_, Status(StatusCode::kCancelled, "stopped by the caller")};
    Advance(*ready);
  }
}

// The next to advance, waking for several at a time where many are under way; nullopt when `stop`
// or an interrupt came first.
std::optional<std::size_t> GetMany::WaitForOne(const std::stop_token& stop) {
  // With a limit of its own the batch goes on when a result comes, not later.
  const bool may_be_late = active_ >= kManyActive && options_.max_in_flight == 0;
  if (may_be_late && done_.Empty()) {
    const auto several = static_cast<std::size_t>(std::min(active_ / 4, kMostAwaited));
    const WaitEnd end = done_.WaitForSeveral(several, stop, Deadline::After(kLongestAwaited));
    if (end == WaitEnd::kStopped) return std::nullopt;
  }
  return done_.Next(stop);
}

}  // namespace headrace::object
