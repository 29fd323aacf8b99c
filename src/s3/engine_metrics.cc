#include "s3/engine_metrics.h"

namespace headrace::s3 {

void EngineMetrics::RegisterAll(Registry& r) const {
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    const std::string name(FactsOf(static_cast<Operation>(i)).name);
    r.Add("headrace_requests_total", "Requests sent, hedges and retries included.", &requests[i],
          {{"operation", name}});
    r.Add("headrace_failures_total", "Operations that ended in an error.", &failures[i],
          {{"operation", name}});
  }
  r.Add("headrace_received_bytes_total", "Bytes of bodies received.", &bytes_received);
  r.Add("headrace_sent_bytes_total", "Bytes of bodies sent.", &bytes_sent);
  for (std::size_t i = 1; i < retries.size(); ++i) {
    r.Add("headrace_retries_total", "Failed attempts that were tried again.", &retries[i],
          {{"class", std::string(ErrorClassName(static_cast<ErrorClass>(i)))}});
  }
  r.Add("headrace_hedges_sent_total", "Second attempts at late GETs.", &hedges_sent);
  r.Add("headrace_hedges_won_total", "Second attempts that answered first.", &hedges_won);
  r.Add("headrace_in_flight", "Operations under way.", &in_flight);
  r.Add("headrace_queued", "Operations waiting for a place.", &queued);
  r.Add("headrace_flow_limit", "Operations that may be under way at once.", &flow_limit);
  r.Add("headrace_first_byte_seconds", "Time to first byte.", &first_byte);
  r.Add("headrace_request_seconds", "Time to the whole answer, retries included.", &total);
  r.Add("headrace_connections", "Open connections.", &loops.connections);
  r.Add("headrace_connections_opened_total", "Connections opened.", &loops.connections_opened);
  r.Add("headrace_loop_rounds_total", "Times the event loops looked for events.", &loops.rounds);
  r.Add("headrace_connections_aborted_total", "Connections given up with a body unread.",
        &loops.connections_lost_to_abort);
}

}  // namespace headrace::s3
