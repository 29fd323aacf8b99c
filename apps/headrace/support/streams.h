// Objects through standard input and output.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <stop_token>
#include <string>

#include "headrace/client.h"
#include "headrace/status.h"

namespace headrace::cli {

// Writes all of `bytes` to a descriptor. kCancelled when `stop` comes first, also while a pipe is
// full; kIo and its like otherwise. When the reader of standard output has gone (`| head`) the
// process dies quietly of SIGPIPE, as coreutils do.
Status WriteAll(int fd, std::span<const std::byte> bytes, std::stop_token stop);

// Reads up to out.size() bytes; 0 at the end. kCancelled as above.
Result<std::size_t> ReadSome(int fd, std::span<std::byte> out, std::stop_token stop);

// An object's bytes, in order, into a descriptor. `range` limits them. `moved` hears of bytes
// written.
Status StreamOut(Client& client, const std::string& uri, const ByteRange& range, int fd,
                 std::stop_token stop, const std::function<void(std::uint64_t)>& moved);

// A descriptor's bytes into an object, which appears when they have ended. Returns their number.
Result<std::uint64_t> StreamIn(Client& client, int fd, const std::string& uri,
                               const PutOptions& options, std::stop_token stop,
                               const std::function<void(std::uint64_t)>& moved);

}  // namespace headrace::cli
