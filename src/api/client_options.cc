#include "api/client_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

#include "base/host_limits.h"
#include "base/macros.h"
#include "headrace/client.h"
#include "s3/default_credentials.h"
#include "s3/endpoint_config.h"
#include "s3/net_fetch.h"

namespace headrace::api {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
// More is a mistake, and much more would overflow where times are added.
constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::weeks(1);

Status Invalid(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}

Result<int> MaxAttempts(const ClientOptions& options) {
  if (options.max_attempts > 0) return options.max_attempts;
  const char* text = std::getenv("AWS_MAX_ATTEMPTS");
  if (text == nullptr || *text == '\0') return 10;
  const int n = std::atoi(text);
  if (n < 1)
    return Invalid(fmt::format("AWS_MAX_ATTEMPTS is '{}': it must be a number from 1 up", text));
  return n;
}

int Loops(const ClientOptions& options) {
  if (options.loop_threads > 0) return options.loop_threads;
  if (options.throughput_target_gbps == 0) return UsableCores() < 4 ? 1 : 2;
  const double wanted = std::ceil(options.throughput_target_gbps / 10.0);
  return static_cast<int>(std::clamp(wanted, 1.0, 4.0));
}

}  // namespace

int ProcessesOnHost(const ClientOptions& options) {
  return options.processes_on_host > 0 ? options.processes_on_host : LocalProcesses();
}

std::size_t MemoryLimit(const ClientOptions& options) {
  return options.memory_limit != 0 ? options.memory_limit
                                   : DefaultMemoryLimit(ProcessesOnHost(options));
}

Status CheckMaxInFlight(int max_in_flight) {
  if (max_in_flight >= 0) return {};
  return Invalid("max_in_flight is negative: 0 lets headrace choose");
}

Status Validate(const ClientOptions& o) {
  if (o.access_key_id.empty() != o.secret_access_key.empty()) {
    return Invalid("access_key_id and secret_access_key go together: give both or neither");
  }
  if (o.anonymous && !o.access_key_id.empty()) {
    return Invalid("anonymous requests carry no credentials: drop the keys or anonymous");
  }
  if (o.anonymous && o.requester_pays) {
    return Invalid(
        "requester_pays needs credentials: somebody has to pay; drop anonymous (unsigned)");
  }
  if (o.part_size < kMiB / 16 || o.part_size > 5120 * kMiB) {
    return Invalid(
        fmt::format("part_size is {} bytes: it must be from 64 KiB to 5 GiB", o.part_size));
  }
  if (o.memory_limit != 0 && o.memory_limit < o.part_size * 8) {
    return Invalid(
        fmt::format("memory_limit is {} bytes, less than eight parts of {}: raise memory_limit to "
                    "{} or lower part_size",
                    o.memory_limit, o.part_size, o.part_size * 8));
  }
  if (o.processes_on_host < 0)
    return Invalid("processes_on_host is negative: 0 asks LOCAL_WORLD_SIZE");
  RETURN_IF_ERROR(CheckMaxInFlight(o.max_in_flight));
  if (o.max_attempts < 0)
    return Invalid("max_attempts is negative: 0 means AWS_MAX_ATTEMPTS, else 10");
  for (const auto timeout : {o.connect_timeout, o.idle_timeout, o.progress_timeout}) {
    if (timeout.count() > 0 && timeout <= kLongestTimeout) continue;
    return Invalid(
        "connect_timeout, idle_timeout and progress_timeout must be above zero and at most a week");
  }
  if (!(o.throughput_target_gbps >= 0)) return Invalid("throughput_target_gbps must be above zero");
  return {};
}

Result<s3::EngineOptions> ResolveEngineOptions(const ClientOptions& o, const Clock* clock) {
  s3::EngineOptions engine;
  engine.transport.connect_timeout = o.connect_timeout;
  engine.transport.ca_bundle = o.ca_bundle;
  engine.transport.verify_tls = o.verify_tls;
  const s3::Environment environment = s3::Environment::Process();
  const s3::HttpFetch fetch = s3::NetFetch(engine.transport);

  ASSIGN_OR_RETURN(
      engine.endpoint,
      s3::ResolveEndpoint(
          {.region = o.region,
           .endpoint_url = o.endpoint_url,
           .profile = o.profile,
           .style = o.force_path_style ? s3::AddressingStyle::kPath : s3::AddressingStyle::kAuto},
          environment, fetch, {}, Deadline::After(std::chrono::seconds(5))));

  if (!o.access_key_id.empty()) {
    engine.credentials = std::make_unique<s3::StaticCredentials>(
        s3::Credentials{o.access_key_id, o.secret_access_key, o.session_token, std::nullopt});
  } else if (!o.anonymous) {
    engine.credentials =
        s3::DefaultCredentials({environment, fetch, clock}, o.profile, engine.endpoint.region);
  }

  s3::WireOptions& wire = engine.wire;
  ASSIGN_OR_RETURN(engine.policy.retry.max_attempts, MaxAttempts(o));
  engine.policy.idle_timeout = o.idle_timeout;
  engine.policy.progress_timeout = o.progress_timeout;
  engine.policy.hedge = o.hedge;
  wire.requester_pays = o.requester_pays;
  wire.expected_bucket_owner = o.expected_bucket_owner;
  wire.sign_payload = o.sign_payload;
  wire.user_agent = fmt::format("headrace/{}{}{}", Version(), o.user_agent_extra.empty() ? "" : " ",
                                o.user_agent_extra);
  engine.max_in_flight = o.max_in_flight;
  engine.loops = Loops(o);
  // Loops asked for by number are this process's own.
  engine.processes_on_host = o.loop_threads > 0 ? 1 : ProcessesOnHost(o);
  return engine;
}

}  // namespace headrace::api
