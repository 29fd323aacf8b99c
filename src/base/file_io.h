// Local files: what errno means, and writes that are whole or an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "headrace/status.h"

namespace headrace {

// What errno means, with what was being done: "writing out/x: No space left on device".
Status ErrnoStatus(int error, std::string_view doing);
// The same of the file at `path`: "writing out/x: …" where `doing` is "writing".
Status ErrnoStatus(int error, std::string_view doing, std::string_view path);

// Writes all of `bytes` where the descriptor stands. `doing` is for the error.
Status WriteAll(int fd, std::span<const std::byte> bytes, std::string_view doing);
// The same at `offset`, in bytes; where the descriptor stands does not matter, nor change.
Status WriteAllAt(int fd, std::span<const std::byte> bytes, std::uint64_t offset,
                  std::string_view doing);

}  // namespace headrace
