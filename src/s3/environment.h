// What a process finds around it: environment variables, files, programs. Injected, so that tests
// are hermetic and nothing else in the module touches the real ones.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "headrace/status.h"

namespace headrace::s3 {

struct Environment {
  // nullopt when the variable is not set or empty, which the AWS SDKs treat alike.
  std::function<std::optional<std::string>(const std::string& name)> getenv;
  // The whole file. kNotFound when there is none, kAccessDenied and kIo as they say.
  std::function<Result<std::string>(const std::string& path)> read_file;
  // Runs a program (no shell) and returns its standard output; its standard error is ours, its
  // standard input empty. kNotFound when there is no such program, kIo when it fails.
  std::function<Result<std::string>(const std::vector<std::string>& argv, std::stop_token stop,
                                    Deadline deadline)>
      run;

  // The real one.
  static Environment Process();

  std::string Get(const std::string& name, const std::string& otherwise = "") const {
    return getenv(name).value_or(otherwise);
  }
  // Whether the variable says "true" (in any case).
  bool Flag(const std::string& name) const;
  // `path` with a leading "~/" replaced by HOME.
  std::string ExpandHome(const std::string& path) const;
};

}  // namespace headrace::s3
