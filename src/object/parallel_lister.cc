#include "object/parallel_lister.h"

#include <algorithm>
#include <fmt/format.h>
#include <xxhash.h>

#include "base/macros.h"

namespace headrace::object {
namespace {

constexpr std::size_t kMaxInFlight = 64;
// No further cuts beyond this many pieces.
constexpr std::size_t kMaxSegments = 4096;
// Guessing stops where it mostly misses.
constexpr std::size_t kTrials = 128;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexLower(char c) { return c >= 'a' && c <= 'f'; }
bool IsHexUpper(char c) { return c >= 'A' && c <= 'F'; }

std::size_t CommonPrefix(std::string_view a, std::string_view b) {
  const std::size_t n = std::min(a.size(), b.size());
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin()).first -
      a.begin());
}

// The characters that may follow `c` where names like `whole` have it, ascending.
std::string Successors(char c, std::string_view whole) {
  std::string following;
  auto add = [&](char from, char to) {
    for (char x = std::max<char>(from, static_cast<char>(c + 1)); x <= to; ++x) following += x;
  };
  const bool hex_lower = std::any_of(whole.begin(), whole.end(), IsHexLower);
  const bool hex_upper = std::any_of(whole.begin(), whole.end(), IsHexUpper);
  if (IsDigit(c)) {
    add('0', '9');
    if (hex_upper) add('A', 'F');
    if (hex_lower) add('a', 'f');
  } else if (c >= 'a' && c <= 'z') {
    add('a', IsHexLower(c) && std::any_of(whole.begin(), whole.end(), IsDigit) ? 'f' : 'z');
  } else if (c >= 'A' && c <= 'Z') {
    add('A', 'Z');
  }
  return following;
}

std::uint64_t HashOf(std::string_view key) { return XXH3_64bits(key.data(), key.size()); }

}  // namespace

std::vector<std::string> CutPoints(std::string_view first, std::string_view last,
                                   std::string_view hi, std::size_t from) {
  const std::size_t differ = CommonPrefix(first, last);
  std::vector<std::string> cuts;
  // From the deepest place outwards the cuts ascend.
  for (std::size_t place = std::min(differ + 1, last.size()); place-- > from;) {
    for (const char c : Successors(last[place], last)) {
      std::string cut(last.substr(0, place));
      cut += c;
      if (hi.empty() || cut < hi) cuts.push_back(std::move(cut));
    }
  }
  return cuts;
}

ParallelLister::ParallelLister(const Context* context, store::ListRequest request)
    : context_(*context),
      request_(std::move(request)),
      done_(std::make_unique<CompletionQueue<Segment*>>()) {
  segments_.push_back({.lo = request_.start_after});
  Send(segments_.begin());
}

void ParallelLister::Send(Place segment) {
  store::ListRequest request = request_;
  request.start_after = segment->lo;
  request.token = segment->token;
  segment->pending = context_.store->List(request);
  segment->sent = true;
  ++in_flight_;
  ++requests_;
  done_->Watch(segment->pending, &*segment);
}

void ParallelLister::SendWaiting() {
  for (Place it = segments_.begin(); it != segments_.end() && in_flight_ < kMaxInFlight; ++it) {
    if (!it->sent && !it->done) Send(it);
  }
}

void ParallelLister::Split(Place segment, std::string_view first) {
  if (segments_.size() >= kMaxSegments) return;
  if (requests_ >= kTrials && empty_answers_ * 4 > requests_ * 3) return;
  const std::vector<std::string> cuts =
      CutPoints(first, segment->last, segment->hi, request_.prefix.size());
  if (cuts.empty()) return;
  const std::string hi = std::exchange(segment->hi, cuts.front());
  const Place after = std::next(segment);
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    segments_.insert(after, {.lo = cuts[i], .hi = i + 1 < cuts.size() ? cuts[i + 1] : hi});
  }
}

Status ParallelLister::OnPage(Place segment, s3::ListPage page) {
  const std::string last = segment->last.empty() ? segment->lo : segment->last;
  std::string_view before = last;
  std::size_t keep = 0;
  for (const s3::ListedObject& object : page.objects) {
    if (!before.empty() && object.key <= before) {
      StartSerially();
      return {};
    }
    before = object.key;
    if (!segment->hi.empty() && object.key > segment->hi) break;
    ++keep;
  }
  if (page.objects.empty()) ++empty_answers_;
  const bool beyond = keep < page.objects.size();
  segment->done = beyond || !page.truncated;
  const std::string first = keep > 0 ? std::string(page.objects.front().key) : "";
  if (keep > 0) segment->last = page.objects[keep - 1].key;
  if (!segment->done) {
    const std::string& token = page.next_token;
    if (token.empty() && page.next_marker.empty()) {
      return Status(
          StatusCode::kProtocol,
          fmt::format("listing {}/{}: the server says there is more but names no next page",
                      request_.bucket, request_.prefix));
    }
    if (token == segment->token && !token.empty()) {
      return Status(
          StatusCode::kProtocol,
          fmt::format("listing {}/{}: the server names the same next page again; the listing "
                      "would never end",
                      request_.bucket, request_.prefix));
    }
    segment->token = token;
    if (token.empty()) segment->lo = page.next_marker;
    if (keep > 0) Split(segment, first);
  }
  page.objects.resize(keep);
  if (keep > 0) segment->pages.push_back(std::move(page));
  return {};
}

void ParallelLister::StartSerially() {
  segments_.clear();
  done_ = std::make_unique<CompletionQueue<Segment*>>();
  in_flight_ = 0;
  std::sort(given_out_.begin(), given_out_.end());
  serial_ = std::make_unique<Lister>(&context_, request_);
}

void ParallelLister::DropGivenOut(s3::ListPage& page) {
  if (given_out_.empty()) return;
  std::erase_if(page.objects, [this](const s3::ListedObject& object) {
    return std::binary_search(given_out_.begin(), given_out_.end(), HashOf(object.key));
  });
}

s3::ListPage ParallelLister::GiveOut(s3::ListPage page) {
  for (const s3::ListedObject& object : page.objects) given_out_.push_back(HashOf(object.key));
  return page;
}

Result<std::optional<s3::ListPage>> ParallelLister::Next(const std::stop_token& stop) {
  while (true) {
    if (serial_ != nullptr) {
      ASSIGN_OR_RETURN(std::optional<s3::ListPage> page, serial_->Next(stop));
      if (!page) return page;
      DropGivenOut(*page);
      if (page->objects.empty()) continue;
      return page;
    }
    while (!segments_.empty() && segments_.front().pages.empty() && segments_.front().done) {
      segments_.pop_front();
    }
    if (segments_.empty()) return std::optional<s3::ListPage>();
    if (!segments_.front().pages.empty()) {
      s3::ListPage page = std::move(segments_.front().pages.front());
      segments_.front().pages.pop_front();
      return std::optional(GiveOut(std::move(page)));
    }
    SendWaiting();
    const std::optional<Segment*> ready = done_->Next(stop);
    if (!ready) return Status(StatusCode::kCancelled, "stopped by the caller");
    Segment& segment = **ready;
    ASSIGN_OR_RETURN(s3::ListPage page, segment.pending.Take());
    --in_flight_;
    segment.sent = false;
    const Place place = std::find_if(segments_.begin(), segments_.end(),
                                     [&](const Segment& s) { return &s == &segment; });
    RETURN_IF_ERROR(OnPage(place, std::move(page)));
    SendWaiting();
  }
}

}  // namespace headrace::object
