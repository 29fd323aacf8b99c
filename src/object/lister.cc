#include "object/lister.h"

#include <fmt/format.h>

#include "base/macros.h"

namespace headrace::object {

Lister::Lister(const Context* context, store::ListRequest request)
    : context_(*context), request_(std::move(request)), next_(context_.store->List(request_)) {}

Result<std::optional<s3::ListPage>> Lister::Next(const std::stop_token& stop) {
  while (!ended_) {
    ASSIGN_OR_RETURN(s3::ListPage page, next_.Wait(stop));
    ended_ = !page.truncated;
    if (page.truncated) {
      std::string next = !page.next_token.empty() ? page.next_token : page.next_marker;
      const bool by_marker = page.next_token.empty();
      if (next.empty() || !tokens_.insert(next).second) {
        ended_ = true;
        return Status(
            StatusCode::kProtocol,
            fmt::format("listing {}/{}: the server says there is more but {}; the listing would "
                        "never end",
                        request_.bucket, request_.prefix,
                        next.empty() ? "names no next page" : "names a page given before"));
      }
      if (by_marker) {
        request_.token.clear();
        request_.start_after = std::move(next);
      } else {
        request_.token = std::move(next);
      }
      next_ = context_.store->List(request_);
    }
    if (!page.objects.empty() || !page.common_prefixes.empty()) {
      return std::optional(std::move(page));
    }
  }
  return std::optional<s3::ListPage>();
}

}  // namespace headrace::object
