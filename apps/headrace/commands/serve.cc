#include "commands/serve.h"

#include <cmath>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "devserver/server.h"
#include "support/common_options.h"
#include "support/location.h"
#include "support/standard_streams.h"

namespace headrace::cli {
namespace {

struct ServeArguments {
  devserver::ServerOptions server;
  std::string model;
  double list_ms = -1;
  double first_byte_ms = -1;
  double first_byte_sigma = -1;
  double bytes_per_second = -1;
  double gets_per_second = -1;
  double puts_per_second = -1;
  std::uint64_t seed = 1;
  bool json = false;
};

constexpr const char* kHelpFooter = R"(Examples:
  headrace serve /var/tmp/s3 --bucket my-bucket  a store with a bucket on a free port, random keys
  headrace serve /var/tmp/s3 --port 9000 --access-key dev --secret-key devsecret
  headrace serve /var/tmp/s3 --model s3          answers as slowly as the real service
  headrace serve /var/tmp/s3 --model s3 --first-byte-ms 10
  headrace serve /var/tmp/s3 --faults rules.json see src/devserver/FAULTS.md
  headrace serve /var/tmp/s3 --virtual keys.jsonl

When it is ready it prints three lines to paste into the shell that is to use it, then for example
`headrace cp --recursive data/ s3://my-bucket/`. DIR is the server's own store, not a tree of your
files. It keeps what it
holds when it is stopped, however it is stopped. GET /_headrace/stats, from this machine, gives the
counters as JSON.)";

// Applies the numbers that were given over the preset.
devserver::ModelOptions ResolveModel(const ServeArguments& arguments) {
  devserver::ModelOptions model;
  if (arguments.model == "s3") model = devserver::ModelOptions::S3();
  auto take = [](double given, double* into) {
    if (given >= 0) *into = given;
  };
  take(arguments.first_byte_ms, &model.first_byte_median_ms);
  take(arguments.first_byte_sigma, &model.first_byte_sigma);
  take(arguments.list_ms, &model.list_ms);
  take(arguments.bytes_per_second, &model.bytes_per_second);
  take(arguments.gets_per_second, &model.gets_per_second);
  take(arguments.puts_per_second, &model.puts_per_second);
  model.seed = arguments.seed;
  return model;
}

// Connections and data files each take a descriptor: use what the system allows.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// As a shell reads it back.
std::string Quoted(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=/.:[]";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void PrintReady(const devserver::Server& server, bool json) {
  if (json) {
    const nlohmann::json line = {{"endpoint", server.endpoint()},
                                 {"access_key", server.access_key()},
                                 {"secret_key", server.secret_key()},
                                 {"region", server.region()}};
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("S3 server ready at {}  access key {}  secret key {}  region {}\n",
               server.endpoint(), server.access_key(), server.secret_key(), server.region());
    fmt::print("export AWS_ENDPOINT_URL={}\n", Quoted(server.endpoint()));
    fmt::print("export AWS_ACCESS_KEY_ID={}\n", Quoted(server.access_key()));
    fmt::print("export AWS_SECRET_ACCESS_KEY={}\n", Quoted(server.secret_key()));
  }
  std::fflush(stdout);
}

int Serve(const ServeArguments& arguments) {
  // Blocked before any thread starts, so that all inherit it and sigwait alone receives them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  RaiseDescriptorLimit();

  devserver::ServerOptions options = arguments.server;
  options.model = ResolveModel(arguments);
  auto server = devserver::Server::Start(options);
  if (!server.ok()) {
    if (server.status().code() == StatusCode::kInvalidArgument) {
      return UsageError("serve", server.status());
    }
    PrintError("headrace serve: {}\n", server.status().ToString());
    return kExitFailed;
  }
  PrintReady(**server, arguments.json);
  int signal = 0;
  sigwait(&signals, &signal);
  (*server)->Stop();
  return kExitOk;
}

// Complaints as CLI11 wants them; "" for none.
std::string CheckBucketName(const std::string& name) {
  if (IsBucketName(name)) return "";
  return fmt::format("'{}' cannot name a bucket: {}", name, kBucketNameRule);
}

std::string CheckNumber(const std::string& text) {
  double number = 0;
  if (!CLI::detail::lexical_cast(text, number) || !std::isfinite(number) || number < 0) {
    return fmt::format("'{}' is not a number of 0 or more", text);
  }
  return "";
}

void AddModelOptions(CLI::App& serve, ServeArguments* arguments) {
  const char* group = "Model (off unless asked for)";
  serve
      .add_option(
          "--model", arguments->model,
          "preset: s3 = first byte after 30 ms (median; lognormal, sigma 0.5), LIST 100 ms, "
          "90 MB/s per connection, 5,500 GET/s and 3,500 PUT/s per prefix")
      ->check(CLI::IsMember({"s3", "none"}))
      ->group(group);
  auto number = [&](const char* name, double* value, const char* text) {
    serve.add_option(name, *value, text)->check(CheckNumber)->group(group);
  };
  number("--first-byte-ms", &arguments->first_byte_ms, "median milliseconds to the first byte");
  number("--first-byte-sigma", &arguments->first_byte_sigma, "sigma of its logarithm");
  number("--list-ms", &arguments->list_ms, "milliseconds to a page of a listing");
  number("--bytes-per-second", &arguments->bytes_per_second,
         "bandwidth of a connection, each direction; 0: unlimited");
  number("--gets-per-second", &arguments->gets_per_second,
         "GET and HEAD per second and prefix before 503 SlowDown; 0: unlimited");
  number("--puts-per-second", &arguments->puts_per_second,
         "writes per second and prefix before 503 SlowDown; 0: unlimited");
  serve.add_option("--seed", arguments->seed, "of the model's random times")
      ->capture_default_str()
      ->group(group);
}

}  // namespace

void AddServe(CLI::App& app, std::function<void(Command)> chosen) {
  auto arguments = std::make_shared<ServeArguments>();
  devserver::ServerOptions& server = arguments->server;
  CLI::App* serve = app.add_subcommand("serve", "Run an S3 server over a local directory");
  serve->footer(kHelpFooter);
  serve->add_option("DIR", server.dir, "the server's own store; made when missing")->required();
  serve->add_option("--port", server.port, "TCP port; 0 picks a free one")->capture_default_str();
  serve->add_option("--bind", server.bind, "IP address to listen on")->capture_default_str();
  serve->add_option("--access-key", server.access_key, "random unless given");
  serve->add_option("--secret-key", server.secret_key, "random unless given");
  serve->add_option("--region", server.region, "region that requests must be signed for")
      ->capture_default_str();
  serve->add_option("--domain", server.domains, "names below which a bucket may be a host name")
      ->capture_default_str();
  serve->add_option("--anonymous", server.anonymous_buckets,
                    "bucket that may be read without a signature (may be repeated)");
  serve
      ->add_option("--bucket", server.buckets,
                   "bucket that is made when it is missing (may be repeated)")
      ->allow_extra_args(false)
      ->check(CheckBucketName);
  serve->add_option("--tls-cert", server.tls_certificate, "PEM certificate chain: serve HTTPS");
  serve->add_option("--tls-key", server.tls_key, "PEM private key of --tls-cert");
  serve->add_option("--faults", server.faults_file, "JSON file of fault rules");
  serve->add_option("--virtual", server.virtual_file,
                    "JSON Lines of keys to answer with generated bytes");
  serve->add_option("--threads", server.threads, "event-loop threads; 0: one per core, at most 4")
      ->capture_default_str();
  serve
      ->add_option("--min-part-size", server.min_part_size,
                   "smallest size of an upload's parts but the last, in bytes")
      ->capture_default_str();
  serve->add_flag("--json", arguments->json, "print the ready line as one JSON object");

  AddModelOptions(*serve, arguments.get());
  serve->callback([arguments, chosen] { chosen([arguments] { return Serve(*arguments); }); });
}

}  // namespace headrace::cli
