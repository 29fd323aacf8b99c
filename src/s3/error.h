// What a server's refusal means: whether trying again can help, and what the user is told.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/status.h"

namespace headrace::s3 {

// What can be done about a failed attempt.
enum class ErrorClass : std::uint8_t {
  kNone,         // it did not fail
  kThrottle,     // the service asks for fewer requests: wait longer, send less
  kTransient,    // may go away by itself: wait, try again
  kAuthRefresh,  // the credentials expired: fetch new ones, try again
  kClockSkew,    // our clock and the server's differ: correct, try again once
  kRedirect,     // another region or endpoint serves this bucket: go there
  kFatal,        // trying again cannot help
};

// "throttle", "transient", …: the metrics' label.
std::string_view ErrorClassName(ErrorClass error_class);

// What a server answered. From the headers and, when there is a body, its <Error> document.
struct ServerAnswer {
  int http_status = 0;
  std::string code;        // <Code>; empty for HEAD, whose answers have no body
  std::string message;     // <Message>
  std::string request_id;  // x-amz-request-id or <RequestId>
  std::string region;      // x-amz-bucket-region or <Region>: where the bucket is
  std::string endpoint;    // <Endpoint> of a redirect
  std::string location;    // the Location header of a redirect
  // The server's Date minus our clock, and minus the time that the request was signed with; 0 when
  // it sent no Date.
  std::chrono::seconds clock_offset{0};
  std::chrono::seconds signing_offset{0};
};

// What was asked, as far as messages and classes depend on it.
struct RequestFacts {
  std::string_view action;  // "read", "write", "list", "delete", …: "may {action} s3://…"
  std::string_view bucket;
  std::string_view key;       // empty for bucket requests
  std::string_view endpoint;  // "https://s3.eu-west-1.amazonaws.com", for messages
  std::string_view region;    // signed for
  bool session_credentials = false;
  bool anonymous = false;
  bool if_match = false;       // the request was bound to one version
  bool if_none_match = false;  // the request may only create
};

// An answer of 200 with an error code inside (CompleteMultipartUpload, CopyObject) is classed by
// the code. For answers without a body, what HEAD leaves out is guessed from headers and facts.
ErrorClass Classify(const ServerAnswer& answer, const RequestFacts& facts);

// The error the user gets when `answer` is final, with the cure where one is known.
// REQUIRES: Classify(answer, facts) != kNone.
Status ToStatus(const ServerAnswer& answer, const RequestFacts& facts);

}  // namespace headrace::s3
