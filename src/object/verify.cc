#include "object/verify.h"

#include <fmt/format.h>

#include "base/macros.h"
#include "object/replaced.h"

namespace headrace::object {

Verifier::Verifier(std::string key, s3::Checksum stored)
    : key_(std::move(key)), stored_(stored), running_(stored.algorithm()) {}

Result<Verifier> Verifier::Ask(const Context& context, const store::Name& name,
                               const std::string& etag, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const store::StoredChecksum stored, context.store->ChecksumOf(name).Wait(stop));
  if (!etag.empty() && !stored.etag.empty() && stored.etag != etag) {
    return Replaced(name);
  }
  if (stored.checksum.algorithm() == s3::ChecksumAlgorithm::kNone) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} cannot be verified: no checksum of the whole object is stored "
                              "with it; read it without verify, or store it anew",
                              name.key));
  }
  return Verifier(name.key, stored.checksum);
}

Status Verifier::Finish() const {
  if (running_ == stored_) return {};
  return Status(
      StatusCode::kChecksumMismatch,
      fmt::format("{}: the bytes received have {} {}, the object was stored with {}", key_,
                  s3::ChecksumName(running_.algorithm()), running_.ToHeader(), stored_.ToHeader()));
}

Status CheckVerify(const GetOptions& options) {
  if (!options.verify || !options.range) return {};
  return Status(StatusCode::kInvalidArgument,
                "verify compares whole objects: leave out the range or verify");
}

}  // namespace headrace::object
