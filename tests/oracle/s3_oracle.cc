// Answers, one JSON line for each JSON line of its standard input, how our client signs a request
// or which address it would ask. s3_oracle.py asks botocore the same and compares.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "s3/endpoint.h"
#include "s3/endpoint_config.h"
#include "s3/environment.h"
#include "s3/sign.h"
#include "s3/time_text.h"
#include "s3/uri.h"

namespace {

using headrace::Result;
using headrace::WallTime;
using nlohmann::json;

// Bytes travel as strings of the code points 0-255 (Latin-1), because JSON has no bytes.
std::string Bytes(const json& value) {
  const std::string utf8 = value.get<std::string>();
  std::string bytes;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    auto c = static_cast<unsigned char>(utf8[i]);
    if (c >= 0xC0)
      c = static_cast<unsigned char>(c << 6 | (static_cast<unsigned char>(utf8[++i]) & 0x3F));
    bytes += static_cast<char>(c);
  }
  return bytes;
}

std::vector<std::pair<std::string, std::string>> Pairs(const json& list) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const json& pair : list) pairs.emplace_back(Bytes(pair[0]), Bytes(pair[1]));
  return pairs;
}

json Sign(const json& asked) {
  const auto params = Pairs(asked["query"]);
  const auto headers = Pairs(asked["headers"]);
  std::vector<headrace::s3::QueryParam> query_views;
  for (const auto& [name, value] : params) query_views.push_back({name, value});
  std::vector<headrace::s3::HeaderView> header_views;
  for (const auto& [name, value] : headers) header_views.push_back({name, value});
  const std::string query = headrace::s3::CanonicalQuery(query_views);
  const std::string path = headrace::s3::EncodePath(Bytes(asked["path"]));
  const std::string method = asked["method"];
  const std::string host = asked["host"];
  const std::string payload_hash = asked["payload_hash"];
  const std::string region = asked["region"];
  const headrace::s3::Credentials credentials{asked["access_key"], asked["secret_key"],
                                              asked["session_token"], std::nullopt};
  const headrace::s3::SignInput input{method, host, path, query, header_views, payload_hash};
  const WallTime now = *headrace::s3::ParseIso8601(asked["time"].get<std::string>());
  headrace::s3::Signer signer;
  json answer = {{"path", path}, {"query", query}};
  if (asked["kind"] == "presign") {
    const std::chrono::seconds lifetime(asked["lifetime"].get<int>());
    Result<std::string> made = signer.Presign(input, credentials, {region}, now, lifetime);
    answer["error"] = made.status().message();
    if (made.ok()) answer["query"] = *made;
  } else {
    auto made = signer.Sign(input, credentials, {region}, now);
    answer["error"] = made.status().message();
    if (made.ok()) answer["authorization"] = std::string(made->authorization);
  }
  answer["canonical_request"] = signer.canonical_request();
  answer["string_to_sign"] = signer.string_to_sign();
  return answer;
}

json Resolve(const json& asked) {
  headrace::s3::Environment environment{
      .getenv = [&asked](const std::string& name) -> std::optional<std::string> {
        const auto found = asked["environment"].find(name);
        if (found == asked["environment"].end()) return std::nullopt;
        return found->get<std::string>();
      },
      .read_file = [](const std::string& path) -> Result<std::string> {
        return headrace::Status(headrace::StatusCode::kNotFound, path);
      },
      .run = nullptr};
  const std::string style = asked["style"];
  const headrace::s3::EndpointOptions options{
      .region = asked["region"],
      .endpoint_url = asked["endpoint_url"],
      .style = style == "path"      ? headrace::s3::AddressingStyle::kPath
               : style == "virtual" ? headrace::s3::AddressingStyle::kVirtual
                                    : headrace::s3::AddressingStyle::kAuto};
  auto endpoint = headrace::s3::ResolveEndpoint(options, environment, nullptr, {}, {});
  if (!endpoint.ok()) return {{"error", endpoint.status().message()}};
  const auto target = endpoint->For(Bytes(asked["bucket"]), Bytes(asked["key"]));
  return {{"url", endpoint->scheme + "://" + target.host_header + target.path},
          {"region", endpoint->region}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const json asked = json::parse(line);
    std::cout << (asked["kind"] == "endpoint" ? Resolve(asked) : Sign(asked)).dump() << "\n";
  }
}
