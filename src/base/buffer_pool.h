// Where buffers come from: memory is kept for the next buffer of about the same size, because the
// first touch of fresh pages costs about as much as copying into them.
//
// Sizes are rounded up to four steps per power of two (waste below 25 %, 12 % on average). Memory
// of 2 MiB and more is mapped on its own and asks for huge pages.
#pragma once

#include <cstddef>
#include <memory>

#include "headrace/buffer.h"

namespace headrace {

// Safe for use from many threads. Buffers may outlive the pool.
class BufferPool {
 public:
  // Keeps at most `retain` bytes of free memory.
  explicit BufferPool(std::size_t retain);

  // `size` uninitialised bytes.
  Buffer Allocate(std::size_t size);

  // Bytes kept for reuse.
  std::size_t retained() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace headrace
