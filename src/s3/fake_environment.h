// A process's surroundings as data, for tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "s3/environment.h"
#include "s3/http_fetch.h"

namespace headrace::s3 {

// Give environment() to the code under test; what it ran stands in `ran`. Must outlive it.
struct FakeEnvironment {
  std::map<std::string, std::string> variables = {{"HOME", "/home/me"}};
  std::map<std::string, std::string> files;
  std::map<std::string, std::string> programs;  // the first word -> what it prints
  std::vector<std::vector<std::string>> ran;

  Environment environment() {
    return {.getenv = [this](const std::string& name) -> std::optional<std::string> {
              const auto found = variables.find(name);
              if (found == variables.end() || found->second.empty()) return std::nullopt;
              return found->second;
            },
            .read_file = [this](const std::string& path) -> Result<std::string> {
              const auto found = files.find(path);
              if (found != files.end()) return found->second;
              return Status(StatusCode::kNotFound, "cannot read " + path + ": no such file");
            },
            .run = [this](const std::vector<std::string>& argv, std::stop_token,
                          Deadline) -> Result<std::string> {
              ran.push_back(argv);
              const auto found = programs.find(argv[0]);
              if (found != programs.end()) return found->second;
              return Status(StatusCode::kNotFound, "cannot run '" + argv[0] + "'");
            }};
  }
};

// Answers requests from a list of rules, and remembers them. The first rule whose "METHOD
// url-prefix" fits answers; without one the host is unreachable.
struct FakeHttp {
  struct Rule {
    std::string method;
    std::string url_prefix;
    int status = 200;
    std::string body;
  };
  std::vector<Rule> rules;
  std::vector<FetchRequest> requests;

  HttpFetch fetch() {
    return [this](const FetchRequest& request, std::stop_token, Deadline) -> Result<FetchResponse> {
      requests.push_back(request);
      for (const Rule& rule : rules) {
        if (request.method == rule.method && request.url.starts_with(rule.url_prefix)) {
          return FetchResponse{rule.status, {}, rule.body};
        }
      }
      return Status(StatusCode::kUnreachable, "cannot connect to " + request.url);
    };
  }

  static std::string Header(const FetchRequest& request, const std::string& name) {
    for (const auto& [header, value] : request.headers) {
      if (header == name) return value;
    }
    return "";
  }
};

}  // namespace headrace::s3
