// One page of a bucket listing (ListObjectsV2).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/status.h"

namespace headrace::s3 {

// Views into the page that holds it.
struct ListedObject {
  std::string_view key;               // decoded: the key's own bytes
  std::string_view etag;              // without quotes; "" when the server sent none
  std::string_view storage_class;     // "" when the server sent none
  std::uint64_t size = 0;             // bytes
  std::int64_t last_modified_ns = 0;  // since 1970; 0 when the server sent none
};

// The names live in the answer's own text, decoded in place: a page of a thousand keys costs a
// handful of allocations. Moving keeps the views valid; copying is not possible.
struct ListPage {
  std::vector<ListedObject> objects;              // in the server's order
  std::vector<std::string_view> common_prefixes;  // decoded
  bool truncated = false;                         // there are more pages
  // How to ask for the next one. A truncated page without a token, or with one seen before, would
  // loop: the caller must refuse it.
  std::string next_token;

  std::unique_ptr<char[]> text;
  std::deque<std::string> pieced_together;  // names that did not stand in one piece
};

// kProtocol, saying what is wrong, for anything that is not a whole <ListBucketResult> whose
// entries have a key and a size.
Result<ListPage> ParseListPage(std::string_view body);

}  // namespace headrace::s3
