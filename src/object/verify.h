// Comparing a whole object with the checksum that the service keeps of it, where its bytes came in
// ranges: those bring no checksum along.
#pragma once

#include <span>
#include <stop_token>
#include <string>

#include "object/context.h"

namespace headrace::object {

class Verifier {
 public:
  // Asks for the checksum of the version `etag`. kUnsupported when there is none of the whole
  // object, kObjectChanged when another version stands there now.
  static Result<Verifier> Ask(const Context& context, const store::Name& name,
                              const std::string& etag, const std::stop_token& stop);

  // The object's bytes, in order.
  void Extend(std::span<const std::byte> data) { running_.Extend(data); }
  // After the last: ok, or kChecksumMismatch.
  Status Finish() const;

 private:
  Verifier(std::string key, s3::Checksum stored);

  std::string key_;
  s3::Checksum stored_;
  s3::Checksum running_;
};

// `verify` asks for proof that a range cannot give: kInvalidArgument for both together.
Status CheckVerify(const GetOptions& options);

}  // namespace headrace::object
