// A set of AWS credentials, and where sets come from.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "headrace/status.h"

namespace headrace::s3 {

// The secret parts are never formatted, logged or put into a message; nothing here prints them.
struct Credentials {
  std::string access_key_id;  // empty: anonymous, requests go unsigned
  std::string secret_access_key;
  std::string session_token;           // empty for long-lived keys
  std::optional<WallTime> expiration;  // none: they do not expire

  bool anonymous() const { return access_key_id.empty(); }
  bool operator==(const Credentials&) const = default;
};

// One source of credentials. Fetch() blocks (files, a child process, HTTP); CredentialsCache calls
// it on a thread of its own, one call at a time.
class CredentialsProvider {
 public:
  virtual ~CredentialsProvider() = default;

  // Errors: kNotFound when this source is not configured here (a chain goes on to the next);
  // kCredentials when it is configured and fails, with what was tried and the cure;
  // kCancelled and kTimeout as they say. No message holds a secret.
  virtual Result<Credentials> Fetch(std::stop_token stop, Deadline deadline) = 0;

  // As messages name it: "environment", "profile 'dev'", "instance metadata (IMDS)".
  virtual std::string name() const = 0;
};

// Gives the same set for ever.
class StaticCredentials : public CredentialsProvider {
 public:
  explicit StaticCredentials(Credentials credentials) : credentials_(std::move(credentials)) {}
  Result<Credentials> Fetch(std::stop_token stop, Deadline deadline) override;
  std::string name() const override { return "static credentials"; }

 private:
  Credentials credentials_;
};

// Asks each provider in turn; the first that is configured decides, whether it succeeds or fails.
// When none is configured: kCredentials, listing what was looked for.
class ChainCredentials : public CredentialsProvider {
 public:
  explicit ChainCredentials(std::vector<std::unique_ptr<CredentialsProvider>> providers)
      : providers_(std::move(providers)) {}
  Result<Credentials> Fetch(std::stop_token stop, Deadline deadline) override;
  std::string name() const override { return "default credential chain"; }

 private:
  std::vector<std::unique_ptr<CredentialsProvider>> providers_;
};

}  // namespace headrace::s3
