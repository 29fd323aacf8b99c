// What reading and writing objects needs, passed by reference to everything in this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/budget.h"
#include "base/buffer_pool.h"
#include "object/shared_chunks.h"
#include "store/store.h"

namespace headrace::object {

using Progress = std::function<void(std::uint64_t bytes)>;  // more bytes were moved

struct TransferOptions {
  std::size_t part_size = std::size_t{8} << 20;  // bytes per ranged GET and per upload part
  std::size_t multipart_threshold = std::size_t{16} << 20;  // uploads above this are multipart
  std::uint64_t copy_threshold = std::uint64_t{5} << 30;    // copies above this go in parts
};

// The pointers outlive whatever was given the context.
struct Context {
  store::Store* store;
  MemoryBudget* budget;
  BufferPool* buffers;
  SharedChunks* chunks;
  TransferOptions options;
};

}  // namespace headrace::object
