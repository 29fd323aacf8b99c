// The AWS configuration files: ~/.aws/config and ~/.aws/credentials.
//
//   [profile dev]                 in config; [dev] in credentials, whose settings win
//   region = eu-west-1
//   s3 =
//     addressing_style = path     a nested setting: "s3.addressing_style" here
//   [services local]              what a profile's `services = local` points to
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/status.h"
#include "s3/environment.h"

namespace headrace::s3 {

class AwsConfig {
 public:
  using Section = std::map<std::string, std::string, std::less<>>;

  // Reads the files that AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE name, or those in HOME.
  // Missing files count as empty. kCredentials, naming file and line, for one that cannot be read
  // or understood.
  static Result<AwsConfig> Load(const Environment& environment);

  // A profile's settings from both files; nullptr when neither has it.
  const Section* profile(std::string_view name) const;
  // nullopt when the profile or the setting is missing. Names are lower-case.
  std::optional<std::string> Get(std::string_view profile, std::string_view setting) const;
  // A setting of the profile's services section, such as "s3.endpoint_url".
  std::optional<std::string> GetService(std::string_view profile, std::string_view setting) const;

  // kNotFound, listing the profiles there are, for one that is missing.
  Status NoSuchProfile(std::string_view name) const;

 private:
  Status Parse(std::string_view text, const std::string& path, bool is_config);

  std::map<std::string, Section, std::less<>> profiles_;
  std::map<std::string, Section, std::less<>> services_;
  std::string paths_;  // for messages
};

// The profile in force: `chosen` when not empty, else AWS_PROFILE, AWS_DEFAULT_PROFILE, "default".
std::string ProfileName(const std::string& chosen, const Environment& environment);

}  // namespace headrace::s3
