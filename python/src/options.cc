#include "options.h"

#include <chrono>
#include <cmath>
#include <string>
#include <type_traits>

namespace headrace::python {
namespace {

void Assign(std::string& field, nb::handle value) { field = ToBytes(value); }
void Assign(std::chrono::milliseconds& field, nb::handle seconds) {
  field = std::chrono::milliseconds(std::llround(nb::cast<double>(seconds) * 1000));
}
void Assign(std::map<std::string, std::string>& field, nb::handle value) {
  for (auto [name, text] : nb::cast<nb::dict>(value)) field[ToBytes(name)] = ToBytes(text);
}
void Assign(std::optional<std::uint64_t>& field, nb::handle value) {
  field = nb::cast<std::uint64_t>(value);
}
template <typename T>
requires std::is_arithmetic_v<T>
void Assign(T& field, nb::handle value) { field = nb::cast<T>(value); }

// Takes each wanted key out of the dictionary; what is left at the end nobody knows.
class Taker {
 public:
  Taker(const nb::dict& options, const char* what) : options_(options), what_(what) {}

  template <typename T>
  Taker& Take(const char* name, T& field) {
    if (!options_.contains(name)) return *this;
    ++taken_;
    const nb::object value = options_[name];
    if (value.is_none()) return *this;
    try {
      Assign(field, value);
    } catch (const nb::cast_error&) {
      throw nb::type_error(
          (std::string(what_) + ": " + name + " cannot be " + nb::repr(value).c_str()).c_str());
    }
    return *this;
  }

  void Done() const {
    if (taken_ == options_.size()) return;
    throw nb::type_error(
        (std::string(what_) + ": unknown option among " + nb::repr(options_.keys()).c_str())
            .c_str());
  }

 private:
  const nb::dict& options_;
  const char* what_;
  std::size_t taken_ = 0;
};

}  // namespace

ClientOptions ToClientOptions(const nb::dict& options) {
  ClientOptions client;
  Taker(options, "client")
      .Take("region", client.region)
      .Take("endpoint_url", client.endpoint_url)
      .Take("force_path_style", client.force_path_style)
      .Take("profile", client.profile)
      .Take("access_key_id", client.access_key_id)
      .Take("secret_access_key", client.secret_access_key)
      .Take("session_token", client.session_token)
      .Take("anonymous", client.anonymous)
      .Take("requester_pays", client.requester_pays)
      .Take("expected_bucket_owner", client.expected_bucket_owner)
      .Take("max_in_flight", client.max_in_flight)
      .Take("part_size", client.part_size)
      .Take("multipart_threshold", client.multipart_threshold)
      .Take("memory_limit", client.memory_limit)
      .Take("processes_on_host", client.processes_on_host)
      .Take("throughput_target_gbps", client.throughput_target_gbps)
      .Take("connect_timeout", client.connect_timeout)
      .Take("idle_timeout", client.idle_timeout)
      .Take("progress_timeout", client.progress_timeout)
      .Take("max_attempts", client.max_attempts)
      .Take("hedge", client.hedge)
      .Take("sign_payload", client.sign_payload)
      .Take("ca_bundle", client.ca_bundle)
      .Take("verify_tls", client.verify_tls)
      .Take("user_agent_extra", client.user_agent_extra)
      .Done();
  return client;
}

PutOptions ToPutOptions(const nb::dict& options) {
  PutOptions put;
  Taker(options, "put")
      .Take("content_type", put.content_type)
      .Take("storage_class", put.storage_class)
      .Take("metadata", put.metadata)
      .Take("tags", put.tags)
      .Take("server_side_encryption", put.server_side_encryption)
      .Take("kms_key_id", put.kms_key_id)
      .Take("checksum_algorithm", put.checksum_algorithm)
      .Take("if_none_match", put.if_none_match)
      .Take("expected_size", put.expected_size)
      .Done();
  return put;
}

}  // namespace headrace::python
