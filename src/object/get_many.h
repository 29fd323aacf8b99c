// Many objects at once, with what became of each.
//
// Fetches start in the order given, as far as memory allows; those that do not fit start when
// earlier results are taken. Where a length is unknown, that of the longest result of late is
// planned for. What turns out longer takes the place of fetches behind it: they are put back and
// start again later. A batch that was announced ahead of need takes its memory from the look-ahead
// share, so that it can never stand in the way of one that somebody waits for.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "object/fetch.h"

namespace headrace::object {

struct GetManyOptions {
  bool ordered = true;
  int max_in_flight = 0;  // fetches; 0 = as many as memory allows
  bool ahead = false;
};

// One thread. Dropping it cancels what is under way.
class GetMany {
 public:
  // Starts what it can, without waiting.
  GetMany(const Context* context, std::vector<FetchItem> items, GetManyOptions options);

  struct Item {
    std::size_t index = 0;
    Result<Fetched> result;
  };
  // The next result, in order or as they arrive; nullopt when all were given out. When `stop` is
  // requested: kCancelled for the next item, and the batch stays usable.
  std::optional<Item> Next(const std::stop_token& stop);
  // Whether Next would give a result at once.
  bool Ready();

 private:
  void StartWhatFits();
  void Start(std::size_t index, std::unique_ptr<Fetch> fetch, Lease lease);
  // Takes its results so far away; it starts anew, as `item`, when there is memory.
  void PutBack(std::size_t index, FetchItem item);
  std::unique_ptr<Fetch> MakeFetch(std::size_t index) const;
  std::optional<Lease> MakeRoom(std::size_t index);
  Status WaitForMemory(const std::stop_token& stop);
  void LearnLength(std::uint64_t length);
  void Advance(std::size_t index);
  Item Deliver(std::size_t index);
  std::optional<std::size_t> NextToDeliver() const;
  std::optional<std::size_t> WaitForOne(const std::stop_token& stop);

  const Context& context_;
  const GetManyOptions options_;
  Share share_;
  std::vector<FetchItem> items_;
  std::vector<std::unique_ptr<Fetch>> fetches_;  // null: not started, or given out
  CompletionQueue<std::size_t> done_;
  std::vector<bool> finished_;
  std::deque<std::size_t> finished_order_;  // for unordered delivery
  std::set<std::size_t> waiting_;           // not started
  std::uint64_t expected_ = 0;              // bytes of a result; 0 before the first
  std::size_t delivered_ = 0;
  int active_ = 0;   // started, not finished
  int holding_ = 0;  // started, not given out: they hold leases
};

}  // namespace headrace::object
