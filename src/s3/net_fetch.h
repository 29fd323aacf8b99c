// HttpFetch over the engine's own transport.
#pragma once

#include "net/http.h"
#include "s3/http_fetch.h"

namespace headrace::s3 {

// Each call runs an event loop of its own for as long as it takes: such exchanges are rare.
HttpFetch NetFetch(net::TransportOptions options);

}  // namespace headrace::s3
