#include "object/parallel_lister.h"

#include <algorithm>
#include <xxhash.h>

#include "base/macros.h"

namespace headrace::object {
namespace {

constexpr std::size_t kMaxInFlight = 64;
// With this many pages waiting only the first segment goes on; what is in flight still comes.
constexpr std::size_t kMaxBuffered = 256;
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
      done_(std::make_unique<CompletionQueue<Tag>>()) {
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
  done_->Watch(segment->pending, {.segment = &*segment});
}

void ParallelLister::SendWaiting() {
  for (Place it = segments_.begin(); it != segments_.end() && in_flight_ < kMaxInFlight; ++it) {
    if (it != segments_.begin() && buffered_ >= kMaxBuffered) return;
    if (!it->sent && !it->done) Send(it);
  }
}

// Whether guessing costs nothing but requests: the service has little to do for us.
bool ParallelLister::Idle() const {
  if (in_flight_ > kMaxInFlight / 2 || !discoveries_.empty()) return false;
  return std::all_of(segments_.begin(), segments_.end(),
                     [](const Segment& s) { return s.sent || s.done || !s.last.empty(); });
}

// Asks for the folders that follow `last`, the page's last key, at every level where it is worth
// the request. Returns the byte of `last` from which on its numbering may be guessed.
std::size_t ParallelLister::Discover(const s3::ListPage& page, std::string_view last) {
  std::size_t from = request_.prefix.size();
  for (std::size_t slash = last.find('/', from); slash != std::string_view::npos;
       slash = last.find('/', from)) {
    const std::string_view level = last.substr(0, from);
    std::size_t folders = 0;
    std::string_view folder;
    for (const s3::ListedObject& object : page.objects) {
      if (!object.key.starts_with(level)) continue;
      const std::string_view its = object.key.substr(0, object.key.find('/', from));
      folders += its != folder ? 1 : 0;
      folder = its;
    }
    // Folders of a key or two are no better than keys.
    if (folders * 2 > page.objects.size()) return from;
    if (discovered_.emplace(level).second) {
      Discovery& discovery = discoveries_.emplace_back();
      discovery.level = level;
      discovery.step = folders;
      discovery.request = request_;
      discovery.request.prefix = level;
      discovery.request.delimited = true;
      discovery.request.start_after = last;
      Send(discovery);
    }
    from = slash + 1;
  }
  return from;
}

void ParallelLister::Send(Discovery& discovery) {
  discovery.pending = context_.store->List(discovery.request);
  ++in_flight_;
  ++requests_;
  done_->Watch(discovery.pending, {.discovery = &discovery});
}

void ParallelLister::OnFolders(Discovery& discovery, const s3::ListPage& page) {
  std::vector<std::string> cuts;
  for (const std::string_view folder : page.common_prefixes) {
    if (discovery.seen++ % discovery.step == 0) cuts.emplace_back(folder);
  }
  Cut(cuts);
  const bool more = page.truncated && !page.next_token.empty() && !page.common_prefixes.empty() &&
                    page.next_token != discovery.request.token;
  if (more) {
    discovery.request.token = page.next_token;
    Send(discovery);
    return;
  }
  discoveries_.remove_if([&](const Discovery& d) { return &d == &discovery; });
}

void ParallelLister::Cut(const std::vector<std::string>& cuts) {
  Place segment = segments_.begin();
  for (const std::string& cut : cuts) {
    if (segments_.size() >= kMaxSegments) return;
    while (segment != segments_.end() && !segment->hi.empty() && segment->hi <= cut) ++segment;
    if (segment == segments_.end()) return;
    const std::string& reached = segment->last.empty() ? segment->lo : segment->last;
    if (segment->done || cut <= reached) continue;
    segments_.insert(std::next(segment), {.lo = cut, .hi = std::exchange(segment->hi, cut)});
    ++segment;
  }
}

void ParallelLister::Guess(Place segment, std::string_view first, std::size_t from) {
  if (!Idle() || (requests_ >= kTrials && empty_answers_ * 4 > requests_ * 3)) return;
  Cut(CutPoints(first, segment->last, segment->hi, from));
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
    // Only pages without keys can go round: any other moves on, or shows that keys are out of
    // order.
    if (keep > 0) segment->tokens = {segment->token};
    ASSIGN_OR_RETURN(segment->token, NextToken(request_, page, segment->tokens));
    if (keep > 0) Guess(segment, first, Discover(page, segment->last));
  }
  page.objects.resize(keep);
  if (keep > 0) {
    segment->pages.push_back(std::move(page));
    ++buffered_;
  }
  return {};
}

void ParallelLister::StartSerially() {
  segments_.clear();
  discoveries_.clear();
  done_ = std::make_unique<CompletionQueue<Tag>>();
  in_flight_ = 0;
  buffered_ = 0;
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
  if (!failed_.ok()) return failed_;
  Result<std::optional<s3::ListPage>> page = NextToGiveOut(stop);
  failed_ = page.status();
  return page;
}

Result<std::optional<s3::ListPage>> ParallelLister::NextSerially(const std::stop_token& stop) {
  while (true) {
    ASSIGN_OR_RETURN(std::optional<s3::ListPage> page, serial_->Next(stop));
    if (!page) return page;
    DropGivenOut(*page);
    if (!page->objects.empty()) return page;
  }
}

Result<std::optional<s3::ListPage>> ParallelLister::NextToGiveOut(const std::stop_token& stop) {
  while (serial_ == nullptr) {
    while (!segments_.empty() && segments_.front().pages.empty() && segments_.front().done) {
      segments_.pop_front();
    }
    if (segments_.empty()) return std::optional<s3::ListPage>();
    if (!segments_.front().pages.empty()) {
      s3::ListPage page = std::move(segments_.front().pages.front());
      segments_.front().pages.pop_front();
      --buffered_;
      SendWaiting();
      return std::optional(GiveOut(std::move(page)));
    }
    SendWaiting();
    RETURN_IF_ERROR(TakeAnswer(stop));
  }
  return NextSerially(stop);
}

Status ParallelLister::TakeAnswer(const std::stop_token& stop) {
  const std::optional<Tag> ready = done_->Next(stop);
  if (!ready) return Status(StatusCode::kCancelled, "stopped by the caller");
  --in_flight_;
  if (ready->discovery != nullptr) {
    // Its failure costs speed only; what is wrong will show in the listing itself.
    Result<s3::ListPage> folders = ready->discovery->pending.Take();
    OnFolders(*ready->discovery, folders.ok() ? std::move(*folders) : s3::ListPage());
    return {};
  }
  Segment& segment = *ready->segment;
  ASSIGN_OR_RETURN(s3::ListPage page, segment.pending.Take());
  segment.sent = false;
  const Place place = std::find_if(segments_.begin(), segments_.end(),
                                   [&](const Segment& s) { return &s == &segment; });
  return OnPage(place, std::move(page));
}

}  // namespace headrace::object
