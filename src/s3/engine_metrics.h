// What the S3 client counts. All members are safe for use from many threads.
#pragma once

#include <array>

#include "base/metrics.h"
#include "net/event_loop.h"
#include "s3/error.h"
#include "s3/request.h"

namespace headrace::s3 {

struct EngineMetrics {
  std::array<Counter, kOperationCount> requests;  // attempts sent, by operation
  std::array<Counter, kOperationCount> failures;  // operations that ended in an error
  Counter bytes_received;                         // of bodies
  Counter bytes_sent;
  std::array<Counter, 7> retries;  // by ErrorClass
  Counter hedges_sent;
  Counter hedges_won;
  Gauge in_flight;   // operations with an attempt under way or waiting for a retry
  Gauge queued;      // operations waiting for a place
  Gauge flow_limit;  // how many may be in flight now
  Histogram first_byte;
  Histogram total;
  net::LoopMetrics loops;

  void RegisterAll(Registry& registry) const;
};

}  // namespace headrace::s3
