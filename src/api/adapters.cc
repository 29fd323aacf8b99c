#include "api/adapters.h"

#include <algorithm>

#include "base/macros.h"

namespace headrace::api {
namespace {

std::vector<object::FetchItem> ToFetch(std::vector<BatchItem>& items) {
  std::vector<object::FetchItem> fetches;
  fetches.reserve(items.size());
  for (BatchItem& item : items) {
    if (item.rejected.ok()) fetches.push_back(std::move(item.fetch));
  }
  return fetches;
}

}  // namespace

GetBatchAdapter::GetBatchAdapter(const object::Context* context, std::vector<BatchItem> items,
                                 const headrace::GetManyOptions& options)
    : ordered_(options.ordered),
      batch_(context, ToFetch(items),
             {.ordered = options.ordered,
              .max_in_flight = options.max_in_flight,
              .ahead = options.ahead}) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    uris_.push_back(std::move(items[i].uri));
    if (items[i].rejected.ok()) {
      places_.push_back(i);
    } else {
      rejected_.emplace_back(i, std::move(items[i].rejected));
    }
  }
}

bool GetBatchAdapter::RejectedIsNext() const {
  return next_rejected_ < rejected_.size() &&
         (!ordered_ || rejected_[next_rejected_].first == given_);
}

std::optional<GetBatch::Item> GetBatchAdapter::Next(std::stop_token stop) {
  if (RejectedIsNext()) {
    const auto& [place, status] = rejected_[next_rejected_++];
    ++given_;
    return Item{place, status};
  }
  std::optional<object::GetMany::Item> item = batch_.Next(stop);
  if (!item) return std::nullopt;
  const std::size_t place = places_[item->index];
  if (!item->result.ok()) {
    if (item->result.status().code() != StatusCode::kCancelled) ++given_;
    return Item{place, item->result.status()};
  }
  ++given_;
  object::Fetched& fetched = *item->result;
  return Item{place, Object{uris_[place], std::move(fetched.etag), fetched.object_size,
                            std::move(fetched.data)}};
}

ListerAdapter::ListerAdapter(const object::Context* context, store::ListRequest request,
                             bool parallel) {
  if (parallel && !request.delimited && context->store->capabilities().bytewise_order) {
    parallel_ = std::make_unique<object::ParallelLister>(context, std::move(request));
  } else {
    serial_ = std::make_unique<object::Lister>(context, std::move(request));
  }
}

Result<std::span<const ListEntry>> ListerAdapter::NextPage(std::stop_token stop) {
  entries_.clear();
  ASSIGN_OR_RETURN(std::optional<s3::ListPage> page,
                   parallel_ ? parallel_->Next(stop) : serial_->Next(stop));
  if (!page) return std::span<const ListEntry>();
  page_ = std::move(*page);
  entries_.reserve(page_.objects.size() + page_.common_prefixes.size());
  for (const s3::ListedObject& o : page_.objects) {
    entries_.push_back({.key = o.key,
                        .size = o.size,
                        .etag = o.etag,
                        .last_modified = std::chrono::system_clock::time_point(
                            std::chrono::nanoseconds(o.last_modified_ns)),
                        .storage_class = o.storage_class});
  }
  for (const std::string_view prefix : page_.common_prefixes) {
    entries_.push_back({.key = prefix, .is_prefix = true});
  }
  // The service gives the two kinds apart; one order over both is what a reader expects.
  if (!page_.common_prefixes.empty()) {
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const ListEntry& a, const ListEntry& b) { return a.key < b.key; });
  }
  return std::span<const ListEntry>(entries_);
}

}  // namespace headrace::api
