// A listing, page by page, in the store's order, with the next page on its way while this one is
// used.
#pragma once

#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "object/context.h"

namespace headrace::object {

// Where the page after `page` of this listing begins. `seen`, of the pages before, takes it in.
// kProtocol for a truncated page that names no next one, or one seen before.
Result<std::string> NextToken(const store::ListRequest& request, const s3::ListPage& page,
                              std::set<std::string>& seen);

// One thread.
class Lister {
 public:
  Lister(const Context* context, store::ListRequest request);
  // nullopt at the end. Errors: the service's, NextToken's, and kCancelled; they stay.
  Result<std::optional<s3::ListPage>> Next(const std::stop_token& stop);

 private:
  Result<std::optional<s3::ListPage>> NextWithKeys(const std::stop_token& stop);

  const Context& context_;
  store::ListRequest request_;
  Pending<s3::ListPage> next_;
  std::set<std::string> tokens_;
  bool ended_ = false;
  Status failed_;  // the first error: the listing is over
};

}  // namespace headrace::object
