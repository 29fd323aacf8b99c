#include "devserver/listing.h"

#include "base/macros.h"
#include "devserver/errors.h"
#include "devserver/text.h"

namespace headrace::devserver {
namespace {

// The least string above every string that starts with `prefix`; "" when there is none.
std::string Successor(std::string_view prefix) {
  std::string out(prefix);
  while (!out.empty() && static_cast<unsigned char>(out.back()) == 0xFF) out.pop_back();
  if (!out.empty()) ++out.back();
  return out;
}

// The common prefix that `key` rolls up into, or "" when it stands for itself.
std::string_view RollUp(std::string_view key, std::string_view prefix, std::string_view delimiter) {
  if (delimiter.empty()) return {};
  std::size_t at = key.find(delimiter, prefix.size());
  if (at == std::string_view::npos) return {};
  return key.substr(0, at + delimiter.size());
}

void SeekBehind(KeyCursor& cursor, const ListQuery& query) {
  const ListPosition& position = query.position;
  if (position.after.empty() || position.after < query.prefix) {
    cursor.Seek(query.prefix);
  } else if (position.whole_prefix) {
    std::string next = Successor(position.after);
    if (next.empty()) return;
    cursor.Seek(next);
  } else {
    cursor.Seek(position.after + '\0');
  }
}

}  // namespace

ListPage MakeListPage(KeyCursor& cursor, const ListQuery& query) {
  ListPage page;
  if (query.max_keys == 0) return page;
  SeekBehind(cursor, query);
  while (cursor.Valid() && cursor.Key().starts_with(query.prefix)) {
    if (page.objects.size() + page.common_prefixes.size() == query.max_keys) {
      page.truncated = true;
      return page;
    }
    std::string_view rolled = RollUp(cursor.Key(), query.prefix, query.delimiter);
    if (rolled.empty()) {
      page.objects.push_back(cursor.Object());
      page.next = {page.objects.back().key, false};
      cursor.Next();
    } else {
      page.common_prefixes.emplace_back(rolled);
      page.next = {page.common_prefixes.back(), true};
      std::string behind = Successor(rolled);
      if (behind.empty()) break;
      cursor.Seek(behind);
    }
  }
  return page;
}

std::string EncodeToken(const ListPosition& position) {
  return Base64Encode((position.whole_prefix ? "p" : "k") + position.after);
}

Result<ListPosition> DecodeToken(std::string_view token) {
  auto decoded = Base64Decode(token);
  if (!decoded || decoded->empty() || (decoded->front() != 'p' && decoded->front() != 'k')) {
    return S3Error("InvalidArgument", "The continuation token provided is incorrect");
  }
  return ListPosition{decoded->substr(1), decoded->front() == 'p'};
}

ListPosition PositionOfMarker(std::string_view marker, std::string_view prefix,
                              std::string_view delimiter) {
  bool whole = marker.size() > prefix.size() && marker.starts_with(prefix) &&
               RollUp(marker, prefix, delimiter) == marker;
  return {std::string(marker), whole};
}

}  // namespace headrace::devserver
