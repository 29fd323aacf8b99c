// One page of a listing: prefix, delimiter, resumption and order, over any sorted set of keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/status.h"

namespace headrace::devserver {

struct ListedObject {
  std::string key;
  std::string etag;
  std::uint64_t size = 0;
  std::int64_t modified_ms = 0;
  std::string storage_class;
  std::string_view checksum_algorithm;  // "" for none
};

// Walks keys in bytewise order.
class KeyCursor {
 public:
  virtual ~KeyCursor() = default;
  virtual void Seek(std::string_view at_least) = 0;
  virtual void Next() = 0;
  virtual bool Valid() const = 0;
  virtual std::string_view Key() const = 0;
  virtual ListedObject Object() const = 0;
};

// Where a page begins: behind a key, or behind all keys that share a common prefix.
struct ListPosition {
  std::string after;
  bool whole_prefix = false;
};

struct ListQuery {
  std::string prefix;
  std::string delimiter;
  ListPosition position;
  std::size_t max_keys = 1000;
};

struct ListPage {
  std::vector<ListedObject> objects;
  std::vector<std::string> common_prefixes;
  bool truncated = false;
  ListPosition next;  // REQUIRES: truncated
};

// Costs O(log n) per common prefix however many keys share it.
ListPage MakeListPage(KeyCursor& cursor, const ListQuery& query);

// The position as an opaque token, and back. Errors: InvalidArgument for a token not made here.
std::string EncodeToken(const ListPosition& position);
Result<ListPosition> DecodeToken(std::string_view token);

// The position that a marker or start-after stands for: one that is itself a common prefix resumes
// behind the whole of it, as a page's NextMarker may be one.
ListPosition PositionOfMarker(std::string_view marker, std::string_view prefix,
                              std::string_view delimiter);

}  // namespace headrace::devserver
