// Host names to addresses, without ever blocking an event loop.
//
// Object stores answer under one name with many addresses; each attempt takes the next one, so that
// load spreads and a retry lands elsewhere. An address that failed is avoided for half a minute
// while others are left. Answers live a minute and go on being used while they are looked up again.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "headrace/status.h"

namespace headrace::net {

// True for "10.0.0.7", "::1" and "[::1]": nothing to look up.
bool IsIpLiteral(std::string_view host);

// Safe for use from many threads.
class Resolver {
 public:
  // Looks a name up; blocks. The system's (getaddrinfo) by default, another in tests.
  using Lookup = std::function<Result<std::vector<std::string>>(const std::string& host)>;
  explicit Resolver(const Clock* clock, Lookup lookup = nullptr);
  ~Resolver();

  // `done` gets an address for `host`: at once, on this thread, when one is known, else later on a
  // thread of the resolver's, where it must only hand the answer on. It may run while the resolver
  // ends, so it shares in what it uses; after that it is not called any more.
  void Pick(const std::string& host, std::function<void(Result<std::string>)> done);
  // The address did not answer: avoid it for a while.
  void ReportFailure(const std::string& host, const std::string& address);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace headrace::net
