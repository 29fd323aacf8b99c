// /_headrace/…: counters and fault rules, for tests on this machine.
#include "base/macros.h"
#include "devserver/errors.h"
#include "devserver/service.h"

namespace headrace::devserver {

Status Service::Admin(Exchange& x) {
  std::string_view method = x.head.method();
  const std::string& what = x.route.key;
  if (what == "stats" && method == "GET") {
    x.response.AddHeader("Content-Type", "application/json");
    x.response.body = counters_.ToJson();
    x.response.content_length = x.response.body.size();
    return Status();
  }
  if (what == "reset" && method == "POST") {
    counters_.Reset();
    return Status();
  }
  if (what == "faults" && method == "POST") {
    const std::string& body = x.payload->memory();
    Status set = faults_.SetRules(body.empty() ? "[]" : std::string_view(body));
    return set.ok() ? set : S3Error("InvalidArgument", set.message());
  }
  return S3Error(
      "MethodNotAllowed",
      "Known here: GET /_headrace/stats, POST /_headrace/reset, POST /_headrace/faults.");
}

}  // namespace headrace::devserver
