#include "object/get_many.h"

namespace headrace::object {

GetMany::GetMany(const Context* context, std::vector<FetchItem> items, GetManyOptions options)
    : context_(*context),
      options_(options),
      share_(options.ahead ? Share::kLookAhead : Share::kReads),
      items_(std::move(items)),
      fetches_(items_.size()),
      finished_(items_.size()) {
  StartWhatFits();
}

void GetMany::StartWhatFits() {
  while (next_start_ < items_.size() && TryStart(next_start_)) ++next_start_;
}

bool GetMany::TryStart(std::size_t index) {
  if (options_.max_in_flight > 0 && active_ >= options_.max_in_flight) return false;
  auto fetch = std::make_unique<Fetch>(&context_, items_[index]);
  std::optional<Lease> lease = context_.budget->TryAcquire(share_, fetch->bytes_needed());
  if (!lease) return false;
  ++active_;
  ++holding_;
  fetches_[index] = std::move(fetch);
  fetches_[index]->Start(std::move(*lease), &done_, index);
  return true;
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

std::optional<GetMany::Item> GetMany::Next(const std::stop_token& stop) {
  if (delivered_ == items_.size()) return std::nullopt;
  share_ = Share::kReads;  // somebody waits now
  while (true) {
    if (const std::optional<std::size_t> index = NextToDeliver()) return Deliver(*index);
    StartWhatFits();
    if (holding_ == 0) {
      // Nothing of ours is held, so waiting for memory is safe (base/budget.h).
      auto fetch = std::make_unique<Fetch>(&context_, items_[next_start_]);
      Result<Lease> lease = context_.budget->Acquire(share_, fetch->bytes_needed(), stop);
      if (!lease.ok()) return Item{next_start_, lease.status()};
      ++active_;
      ++holding_;
      fetches_[next_start_] = std::move(fetch);
      fetches_[next_start_]->Start(std::move(*lease), &done_, next_start_);
      ++next_start_;
    }
    const std::optional<std::size_t> ready = done_.Next(stop);
    if (!ready) return Item{delivered_, Status(StatusCode::kCancelled, "stopped by the caller")};
    if (fetches_[*ready] == nullptr || finished_[*ready] || !fetches_[*ready]->Advance()) continue;
    finished_[*ready] = true;
    finished_order_.push_back(*ready);
    --active_;
  }
}

}  // namespace headrace::object
