#include "net/resolver.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <netdb.h>
#include <thread>
#include <vector>

namespace headrace::net {
namespace {

constexpr auto kLifetime = std::chrono::seconds(60);
constexpr auto kAvoidFor = std::chrono::seconds(30);

Result<std::vector<std::string>> SystemLookup(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  int code = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (code != 0) {  // AI_ADDRCONFIG hides loopback names on a machine without a network
    hints.ai_flags = 0;
    code = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  }
  if (code != 0) {
    return Status(StatusCode::kUnreachable,
                  fmt::format("cannot resolve host {}: {}; check the endpoint and the network",
                              host, gai_strerror(code)));
  }
  std::vector<std::string> addresses;
  for (addrinfo* a = list; a != nullptr; a = a->ai_next) {
    char text[INET6_ADDRSTRLEN] = "";
    const void* raw = nullptr;
    if (a->ai_family == AF_INET) raw = &reinterpret_cast<sockaddr_in*>(a->ai_addr)->sin_addr;
    if (a->ai_family == AF_INET6) raw = &reinterpret_cast<sockaddr_in6*>(a->ai_addr)->sin6_addr;
    if (raw != nullptr) addresses.emplace_back(inet_ntop(a->ai_family, raw, text, sizeof(text)));
  }
  freeaddrinfo(list);
  return addresses;
}

}  // namespace

bool IsIpLiteral(std::string_view host) {
  if (host.starts_with('[')) return true;
  const std::string text(host);
  in6_addr v6{};
  in_addr v4{};
  return inet_pton(AF_INET, text.c_str(), &v4) == 1 || inet_pton(AF_INET6, text.c_str(), &v6) == 1;
}

struct Resolver::State {
  struct Address {
    std::string text;
    SteadyTime avoid_until{};
  };
  struct Entry {
    std::vector<Address> addresses;
    std::size_t next = 0;
    SteadyTime expires{};
    bool looking_up = false;
    std::vector<std::function<void(Result<std::string>)>> waiting;
  };

  // The next address that did not fail lately, or simply the next. REQUIRES: mu held, one is there.
  std::string Next(Entry& entry) const {
    const SteadyTime now = clock->Now();
    for (std::size_t i = 0; i < entry.addresses.size(); ++i) {
      const Address& a = entry.addresses[entry.next++ % entry.addresses.size()];
      if (a.avoid_until <= now) return a.text;
    }
    return entry.addresses[entry.next++ % entry.addresses.size()].text;
  }

  // Runs on a thread of its own.
  void LookUp(const std::string& host) {
    Result<std::vector<std::string>> found = lookup(host);
    std::vector<std::pair<std::function<void(Result<std::string>)>, Result<std::string>>> answers;
    {
      std::lock_guard lock(mu);
      if (ended) return;  // and the clock with it, perhaps
      Entry& entry = entries[host];
      entry.looking_up = false;
      if (found.ok() && !found->empty()) {
        std::vector<Address> fresh;
        for (std::string& text : *found) {
          SteadyTime avoid{};
          for (const Address& old : entry.addresses) {
            if (old.text == text) avoid = old.avoid_until;
          }
          fresh.push_back({std::move(text), avoid});
        }
        entry.addresses = std::move(fresh);
      }
      entry.expires = clock->Now() + kLifetime;
      auto waiting = std::exchange(entry.waiting, {});
      for (auto& done : waiting) {
        if (!entry.addresses.empty()) {
          answers.emplace_back(std::move(done), Next(entry));
        } else if (!found.ok()) {
          answers.emplace_back(std::move(done), found.status());
        } else {
          answers.emplace_back(
              std::move(done),
              Status(StatusCode::kUnreachable, fmt::format("host {} has no address", host)));
        }
      }
    }
    for (auto& [done, answer] : answers) done(std::move(answer));
  }

  const Clock* clock;
  Lookup lookup;
  std::mutex mu;
  std::map<std::string, Entry> entries;  // guarded by mu
  bool ended = false;                    // guarded by mu
};

Resolver::Resolver(const Clock* clock, Lookup lookup) : state_(std::make_shared<State>()) {
  state_->clock = clock;
  state_->lookup = lookup ? std::move(lookup) : SystemLookup;
}

Resolver::~Resolver() {
  std::lock_guard lock(state_->mu);
  state_->ended = true;
}

void Resolver::Pick(const std::string& host, std::function<void(Result<std::string>)> done) {
  bool start = false;
  std::string address;
  std::function<void(Result<std::string>)> answer;  // when it is known already
  {
    std::lock_guard lock(state_->mu);
    State::Entry& entry = state_->entries[host];
    if (!entry.addresses.empty()) {
      address = state_->Next(entry);
      answer = std::move(done);
    } else {
      entry.waiting.push_back(std::move(done));
    }
    const bool stale = entry.addresses.empty() || state_->clock->Now() >= entry.expires;
    start = stale && !std::exchange(entry.looking_up, entry.looking_up || stale);
  }
  // Detached: a lookup may take half a minute, and nobody should wait for it to end a program.
  if (start) std::thread([state = state_, host] { state->LookUp(host); }).detach();
  if (answer) answer(std::move(address));
}

void Resolver::ReportFailure(const std::string& host, const std::string& address) {
  std::lock_guard lock(state_->mu);
  auto it = state_->entries.find(host);
  if (it == state_->entries.end()) return;
  for (State::Address& a : it->second.addresses) {
    if (a.text == address) a.avoid_until = state_->clock->Now() + kAvoidFor;
  }
}

}  // namespace headrace::net
