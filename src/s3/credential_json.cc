#include "s3/credential_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "s3/time_text.h"

namespace headrace::s3 {
namespace {

std::string StringField(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Result<Credentials> ParseCredentialJson(std::string_view json, const char* token_field,
                                        const std::string& source) {
  auto failed = [&source](std::string_view why) {
    return Status(StatusCode::kCredentials, fmt::format("{} {}", source, why));
  };
  const nlohmann::json object =
      nlohmann::json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return failed("did not give a JSON object");
  const std::string code = StringField(object, "Code");
  if (!code.empty() && code != "Success") {
    return failed(fmt::format("refused: {} {}", code, StringField(object, "Message")));
  }
  if (const auto version = object.find("Version"); version != object.end() && *version != 1) {
    return failed("gave credentials of a Version other than 1");
  }
  Credentials credentials{.access_key_id = StringField(object, "AccessKeyId"),
                          .secret_access_key = StringField(object, "SecretAccessKey"),
                          .session_token = StringField(object, token_field)};
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) {
    return failed("gave no AccessKeyId or no SecretAccessKey");
  }
  if (const std::string expiration = StringField(object, "Expiration"); !expiration.empty()) {
    credentials.expiration = ParseIso8601(expiration);
    if (!credentials.expiration) return failed("gave an Expiration that is no ISO 8601 time");
  }
  return credentials;
}

}  // namespace headrace::s3
