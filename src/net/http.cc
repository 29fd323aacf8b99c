#include "net/http.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <strings.h>
#include <unistd.h>

namespace headrace::net {
namespace {

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// "example.com" and ".example.com" match that host and all below it; "*" matches all.
bool MatchesNoProxy(std::string_view host, std::string_view list) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (item == "*") return true;
    if (item.starts_with('.')) item.remove_prefix(1);
    if (item.empty() || item.size() > host.size()) continue;
    const std::size_t at = host.size() - item.size();
    if (SameName(host.substr(at), item) && (at == 0 || host[at - 1] == '.')) return true;
  }
  return false;
}

}  // namespace

void Headers::Add(std::string_view name, std::string_view value) {
  if (places_.empty()) {  // room for the usual ones
    text_.reserve(640);
    places_.reserve(16);
  }
  places_.push_back({text_.size(), name.size(), value.size()});
  text_.append(name).append(value);
}

void Headers::Clear() {
  text_.clear();
  places_.clear();
}

Headers::Entry Headers::operator[](std::size_t i) const {
  const Place& place = places_[i];
  const std::string_view both(text_.data() + place.begin, place.name_size + place.value_size);
  return {both.substr(0, place.name_size), both.substr(place.name_size)};
}

std::size_t Headers::Find(std::string_view name) const {
  std::size_t i = 0;
  while (i < size() && !SameName((*this)[i].name, name)) ++i;
  return i;
}

std::string_view Headers::Get(std::string_view name) const {
  const std::size_t i = Find(name);
  return i < size() ? (*this)[i].value : std::string_view();
}

std::string FindCaBundle() {
  for (const char* variable : {"AWS_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (std::string path = Env(variable); !path.empty()) return path;
  }
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (access(path, R_OK) == 0) return path;
  }
  return "";
}

std::string ProxyFor(std::string_view scheme, std::string_view host) {
  std::string none = Env("no_proxy");
  if (none.empty()) none = Env("NO_PROXY");
  if (MatchesNoProxy(host, none)) return "";
  const bool https = scheme == "https";
  for (const char* variable : {https ? "https_proxy" : "http_proxy", https ? "HTTPS_PROXY" : "",
                               "all_proxy", "ALL_PROXY"}) {
    if (*variable == '\0') continue;
    if (std::string proxy = Env(variable); !proxy.empty()) return proxy;
  }
  return "";
}

}  // namespace headrace::net
