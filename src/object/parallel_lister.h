// All keys under a prefix, listed side by side and given out in bytewise order.
//
// A service gives a thousand keys a page and wants the last page's token for the next: serially a
// hundred thousand keys take a hundred round trips. But a listing may start after any string. So
// the key space is cut into segments (lo, hi], each listed serially, all at once. Where to cut is
// learned:
//
//   from folders. A page ended inside one and there is more: a delimited listing of the folder
//   above names those that follow, a thousand at once. Cuts go before so many of them as fill a
//   page.
//
//   from numbering, inside one folder (or where each folder holds next to nothing). A page ends
//   with the key K = "img/000999.jpg" and there is more. Every later key shares some beginning of K
//   and then has a greater character. "img/001", …, "img/009", "img/01", …, "img/1", … cut what
//   follows K into pieces that differ in size by powers of ten, whatever the numbering's length.
//
// Characters are tried from the classes seen in the keys (digits, hexadecimal, letters), only at
// places where a page's first and last key do not yet differ (finer pieces would hold less than a
// page), and only while there is little else to ask. The cuts partition the space exactly, so a bad
// guess costs a request, never a key.
//
// All this stands on the service ordering keys bytewise. A key out of order, or outside its
// segment, shows that it does not: then everything starts again serially, leaving out what was
// given out already.
//
// Pages wait until those before them are given out. A caller slower than the service would have
// them pile up: when enough wait, only the first segment, for which the caller waits, goes on.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/completion_queue.h"
#include "object/context.h"
#include "object/lister.h"

namespace headrace::object {

// Strings above `last` and below `hi` ("" = no bound) at which to cut what follows `last`,
// ascending. `first` and `last` are those of one full page; cuts come at or after byte `from`.
std::vector<std::string> CutPoints(std::string_view first, std::string_view last,
                                   std::string_view hi, std::size_t from);

// One thread.
class ParallelLister {
 public:
  // `request` is not delimited.
  ParallelLister(const Context* context, store::ListRequest request);

  // The next page; nullopt at the end. In order of keys, but for what comes after a start anew.
  // Errors are Lister's, and stay.
  Result<std::optional<s3::ListPage>> Next(const std::stop_token& stop);

  // Whether the service turned out not to order keys bytewise.
  bool serial() const { return serial_ != nullptr; }
  // Sent so far, those for folders among them.
  std::size_t requests() const { return requests_; }
  // Pages that are here and not given out yet: a few hundred at most.
  std::size_t buffered() const { return buffered_; }

 private:
  struct Segment {
    std::string lo;  // exclusive
    std::string hi;  // inclusive; "" = no bound
    std::string token;
    std::string last;  // the last key seen
    // What named the next page since the last key. Keys ascend, so that only pages without any can
    // go round in a circle.
    std::set<std::string> tokens;
    Pending<s3::ListPage> pending;
    bool sent = false;  // a request is under way
    bool done = false;
    std::deque<s3::ListPage> pages;
  };
  using Place = std::list<Segment>::iterator;
  // The folders right below `level`, after those already seen.
  struct Discovery {
    std::string level;
    std::size_t step = 1;  // folders that fill a page
    std::size_t seen = 0;
    store::ListRequest request;
    Pending<s3::ListPage> pending;
  };
  // What a ready request belongs to: one of the two.
  struct Tag {
    Segment* segment = nullptr;
    Discovery* discovery = nullptr;
  };

  Result<std::optional<s3::ListPage>> NextToGiveOut(const std::stop_token& stop);
  Result<std::optional<s3::ListPage>> NextSerially(const std::stop_token& stop);
  // Waits for an answer, and takes it in.
  Status TakeAnswer(const std::stop_token& stop);
  void Send(Place segment);
  void SendWaiting();
  Status OnPage(Place segment, s3::ListPage page);
  bool Idle() const;
  std::size_t Discover(const s3::ListPage& page, std::string_view last);
  void Send(Discovery& discovery);
  void OnFolders(Discovery& discovery, const s3::ListPage& page);
  // `cuts` ascend; those that fall on what is listed already are left out.
  void Cut(const std::vector<std::string>& cuts);
  void Guess(Place segment, std::string_view first, std::size_t from);
  void StartSerially();
  // Leaves out what was given out before it started again serially.
  void DropGivenOut(s3::ListPage& page);
  s3::ListPage GiveOut(s3::ListPage page);

  const Context& context_;
  const store::ListRequest request_;
  std::list<Segment> segments_;  // in order of keys; those given out whole are gone
  std::list<Discovery> discoveries_;
  std::set<std::string, std::less<>> discovered_;  // their levels
  std::unique_ptr<CompletionQueue<Tag>> done_;
  std::size_t in_flight_ = 0;
  std::size_t requests_ = 0;
  std::size_t buffered_ = 0;
  std::size_t empty_answers_ = 0;
  std::vector<std::uint64_t> given_out_;  // hashes of the keys
  std::unique_ptr<Lister> serial_;
  Status failed_;  // the first error: the listing is over
};

}  // namespace headrace::object
