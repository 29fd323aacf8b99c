// What credential providers are made from.
#pragma once

#include "base/clock.h"
#include "s3/environment.h"
#include "s3/http_fetch.h"

namespace headrace::s3 {

struct ProviderContext {
  Environment environment;
  HttpFetch fetch;
  const Clock* clock = nullptr;  // must outlive the providers
};

}  // namespace headrace::s3
