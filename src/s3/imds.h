// The EC2 instance metadata service, version 2 (a session token for every read).
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "base/deadline.h"
#include "headrace/status.h"
#include "s3/environment.h"
#include "s3/http_fetch.h"

namespace headrace::s3 {

// Blocks up to a second for each request (AWS_METADATA_SERVICE_TIMEOUT), because off EC2 nobody
// answers. Not thread-safe.
class ImdsClient {
 public:
  ImdsClient(Environment environment, HttpFetch fetch)
      : environment_(std::move(environment)), fetch_(std::move(fetch)) {}

  // The text at `path`, such as "/latest/meta-data/placement/region". kNotFound when the service is
  // switched off (AWS_EC2_METADATA_DISABLED), does not answer, or has no such path; kCredentials
  // when it answers with an error.
  Result<std::string> Get(const std::string& path, std::stop_token stop, Deadline deadline);

 private:
  std::string BaseUrl() const;
  Result<FetchResponse> Ask(FetchRequest request, std::stop_token stop, Deadline deadline);
  Status RenewToken(std::stop_token stop, Deadline deadline);

  Environment environment_;
  HttpFetch fetch_;
  std::string token_;  // "" before the first read and after it was refused
};

}  // namespace headrace::s3
