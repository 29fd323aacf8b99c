// An attempt of a request as it goes over the wire: address, headers and signature. Pure.
#pragma once

#include <string>
#include <string_view>

#include "net/http.h"
#include "s3/bucket_endpoints.h"
#include "s3/credentials.h"
#include "s3/request.h"
#include "s3/sign.h"

namespace headrace::s3 {

// What all requests of a client carry.
struct WireOptions {
  bool requester_pays = false;
  std::string expected_bucket_owner;
  bool sign_payload = false;
  std::string user_agent;
};

struct WireAttempt {
  const S3Request& request;
  const Route& route;
  const Credentials* credentials = nullptr;  // null: anonymous
  std::uint64_t received = 0;                // bytes of the body that are there already
  std::string_view if_match;                 // bare ETag; "": not asked for
  WallTime time{};                           // of the signature
};

// kInvalidArgument for what cannot be a header.
Result<net::Request> BuildWireRequest(const WireAttempt& attempt, const WireOptions& options,
                                      Signer& signer);

}  // namespace headrace::s3
