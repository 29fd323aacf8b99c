#include "s3/aws_config.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/macros.h"

namespace headrace::s3 {
namespace {

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// "profile x" -> "x" when the first word is `kind`. The name may be quoted.
std::optional<std::string> SectionOfKind(std::string_view header, std::string_view kind) {
  if (!header.starts_with(kind)) return std::nullopt;
  std::string_view name = header.substr(kind.size());
  if (name.empty() || (name.front() != ' ' && name.front() != '\t')) return std::nullopt;
  name = Trim(name);
  if (name.size() >= 2 && (name.front() == '"' || name.front() == '\'') &&
      name.back() == name.front()) {
    name = name.substr(1, name.size() - 2);
  }
  return std::string(name);
}

}  // namespace

Result<AwsConfig> AwsConfig::Load(const Environment& environment) {
  AwsConfig config;
  struct File {
    const char* variable;
    const char* otherwise;
    bool is_config;
  };
  // In this order, because the later one wins.
  for (const File& file : {File{"AWS_CONFIG_FILE", "~/.aws/config", true},
                           File{"AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials", false}}) {
    const std::string path = environment.ExpandHome(environment.Get(file.variable, file.otherwise));
    config.paths_ += (config.paths_.empty() ? "" : " and ") + path;
    Result<std::string> text = environment.read_file(path);
    if (text.status().code() == StatusCode::kNotFound) continue;
    if (!text.ok()) return Status(StatusCode::kCredentials, text.status().message());
    RETURN_IF_ERROR(config.Parse(*text, path, file.is_config));
  }
  return config;
}

Status AwsConfig::Parse(std::string_view text, const std::string& path, bool is_config) {
  Section ignored;
  Section* section = nullptr;
  std::string parent;  // of nested settings
  int line_number = 0;
  auto malformed = [&](std::string_view why) {
    return Status(StatusCode::kCredentials, fmt::format("{} line {}: {}", path, line_number, why));
  };
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++line_number;
    const std::string_view trimmed = Trim(line);
    if (trimmed.empty() || trimmed.front() == '#' || trimmed.front() == ';') continue;

    if (line.front() == '[') {
      const std::size_t close = trimmed.find(']');
      if (close == std::string_view::npos) return malformed("a section header without its ']'");
      const std::string_view header = Trim(trimmed.substr(1, close - 1));
      parent.clear();
      if (const auto services = SectionOfKind(header, "services"); services && is_config) {
        section = &services_[*services];
      } else if (const auto named = SectionOfKind(header, "profile"); named && is_config) {
        section = &profiles_[*named];
      } else if (!is_config || header == "default") {
        section = &profiles_[std::string(header)];
      } else {
        section = &ignored;  // sso-session, plugins, …
      }
      continue;
    }
    if (section == nullptr) return malformed("a setting before the first [section]");
    const bool indented = line.front() == ' ' || line.front() == '\t';
    const std::size_t equals = trimmed.find('=');
    if (equals == std::string_view::npos) {
      if (indented) continue;  // a continued value; none of those read here has any
      return malformed("expected 'name = value'");
    }
    const std::string name = Lower(Trim(trimmed.substr(0, equals)));
    const std::string_view value = Trim(trimmed.substr(equals + 1));
    if (indented && !parent.empty()) {
      (*section)[fmt::format("{}.{}", parent, name)] = value;
      continue;
    }
    parent = value.empty() ? name : "";
    (*section)[name] = value;
  }
  return {};
}

const AwsConfig::Section* AwsConfig::profile(std::string_view name) const {
  const auto found = profiles_.find(name);
  return found == profiles_.end() ? nullptr : &found->second;
}

std::optional<std::string> AwsConfig::Get(std::string_view profile,
                                          std::string_view setting) const {
  const Section* section = this->profile(profile);
  if (section == nullptr) return std::nullopt;
  const auto found = section->find(setting);
  if (found == section->end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::optional<std::string> AwsConfig::GetService(std::string_view profile,
                                                 std::string_view setting) const {
  const std::optional<std::string> services = Get(profile, "services");
  if (!services) return std::nullopt;
  const auto section = services_.find(*services);
  if (section == services_.end()) return std::nullopt;
  const auto found = section->second.find(setting);
  if (found == section->second.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

Status AwsConfig::NoSuchProfile(std::string_view name) const {
  std::string known;
  for (const auto& [profile, section] : profiles_) known += (known.empty() ? "" : ", ") + profile;
  return Status(StatusCode::kNotFound,
                fmt::format("no profile '{}' in {}; {}", name, paths_,
                            known.empty() ? "there are no profiles" : "there are: " + known));
}

std::string ProfileName(const std::string& chosen, const Environment& environment) {
  if (!chosen.empty()) return chosen;
  return environment.Get("AWS_PROFILE", environment.Get("AWS_DEFAULT_PROFILE", "default"));
}

}  // namespace headrace::s3
