#include "support/common_options.h"

#include <cstdio>
#include <fmt/format.h>

#include "commands/command.h"
#include "support/standard_streams.h"
#include "support/text.h"

namespace headrace::cli {

void AddClientOptions(CLI::App& verb, CommonOptions* options) {
  ClientOptions& client = options->client;
  const char* where = "Service";
  verb.add_option("--endpoint-url", client.endpoint_url,
                  "the service's address, such as http://127.0.0.1:9000 (AWS_ENDPOINT_URL)")
      ->group(where);
  verb.add_option("--region", client.region, "region of the bucket (AWS_REGION)")->group(where);
  verb.add_option("--profile", client.profile,
                  "profile of the AWS configuration files (AWS_PROFILE)")
      ->group(where);
  verb.add_flag("--no-sign-request", client.anonymous, "send unsigned requests, for public buckets")
      ->group(where);
  verb.add_flag_callback(
          "--request-payer", [&client] { client.requester_pays = true; },
          "pay for the requests to a requester-pays bucket")
      ->group(where);
  verb.add_flag("--path-style", client.force_path_style,
                "put the bucket into the path instead of the host name")
      ->group(where);
  verb.add_option("--ca-bundle", client.ca_bundle,
                  "PEM file of trusted certificates (AWS_CA_BUNDLE)")
      ->group(where);
  verb.add_flag_callback(
          "--no-verify-ssl", [&client] { client.verify_tls = false; }, "accept any certificate")
      ->group(where);
  const char* effort = "Effort";
  verb.add_option("--max-in-flight", client.max_in_flight,
                  "requests at once; 0: as many as the service takes well")
      ->check(CLI::Range(0, 10'000))
      ->group(effort);
  verb.add_option("--max-attempts", client.max_attempts,
                  "attempts per request; 0: AWS_MAX_ATTEMPTS or 10")
      ->check(CLI::Range(0, 1'000))
      ->group(effort);
  verb.add_option("--memory-limit", options->memory_limit,
                  "memory for data on the way, such as 512MiB")
      ->group(effort);
}

void AddOutputOptions(CLI::App& verb, CommonOptions* options) {
  const char* group = "Output";
  verb.add_flag("--json", options->output.json,
                "one JSON object a line, and a last one with the totals")
      ->group(group);
  verb.add_flag("-q,--quiet", options->output.quiet, "errors only")->group(group);
  verb.add_flag("--stats", options->output.stats, "the engine's metrics at the end")->group(group);
}

int UsageError(const std::string& verb, const Status& status) {
  PrintError("headrace {}: {}\nSee headrace {} --help\n", verb, status.message(), verb);
  return kExitUsage;
}

std::shared_ptr<Client> OpenClient(const std::string& verb, const CommonOptions& options,
                                   int* exit_code) {
  ClientOptions client = options.client;
  if (!options.memory_limit.empty()) {
    const Result<std::uint64_t> limit = ParseBytes(options.memory_limit);
    if (!limit.ok()) {
      *exit_code = UsageError(verb, limit.status().WithContext("--memory-limit"));
      return nullptr;
    }
    client.memory_limit = static_cast<std::size_t>(*limit);
  }
  Result<std::shared_ptr<Client>> opened = Client::Open(client);
  if (opened.ok()) return *opened;
  if (opened.status().code() == StatusCode::kInvalidArgument) {
    *exit_code = UsageError(verb, opened.status());
  } else {
    PrintError("headrace {}: {}\n", verb, opened.status().ToString());
    *exit_code = kExitFailed;
  }
  return nullptr;
}

}  // namespace headrace::cli
