#include "object/lister.h"

#include <fmt/format.h>

#include "base/macros.h"

namespace headrace::object {

Result<std::string> NextToken(const store::ListRequest& request, const s3::ListPage& page,
                              std::set<std::string>& seen) {
  const std::string& next = page.next_token;
  if (!next.empty() && seen.insert(next).second) return next;
  return Status(
      StatusCode::kProtocol,
      fmt::format(
          "listing {}/{}: the server says there is more but {}; the listing would never end",
          request.bucket, request.prefix,
          next.empty() ? "names no next page" : "names a page given before"));
}

Lister::Lister(const Context* context, store::ListRequest request)
    : context_(*context), request_(std::move(request)), next_(context_.store->List(request_)) {}

Result<std::optional<s3::ListPage>> Lister::Next(const std::stop_token& stop) {
  if (!failed_.ok()) return failed_;
  Result<std::optional<s3::ListPage>> page = NextWithKeys(stop);
  failed_ = page.status();
  return page;
}

Result<std::optional<s3::ListPage>> Lister::NextWithKeys(const std::stop_token& stop) {
  while (!ended_) {
    ASSIGN_OR_RETURN(s3::ListPage page, next_.Wait(stop));
    ended_ = !page.truncated;
    if (page.truncated) {
      ASSIGN_OR_RETURN(request_.token, NextToken(request_, page, tokens_));
      next_ = context_.store->List(request_);
    }
    if (!page.objects.empty() || !page.common_prefixes.empty()) {
      return std::optional(std::move(page));
    }
  }
  return std::optional<s3::ListPage>();
}

}  // namespace headrace::object
