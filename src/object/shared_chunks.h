// Pieces of objects that several readers use.
//
// Readers of one object who are near each other read the same bytes: threads of a training job over
// one large file, a footer that every worker looks at. What one of them has fetched, or has under
// way, the others join. A reader that does not know yet which version it reads joins nothing: what
// it gets must be what is there now.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/budget.h"
#include "headrace/buffer.h"
#include "store/store.h"

namespace headrace::object {

// Bytes of one object, there or under way. Many threads may wait for it. The last one to let go
// cancels.
struct Chunk {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::string etag;  // asked for; "": whatever was there
  Lease lease;
  Buffer data;  // filled in place
  Pending<store::ReadReply> pending;

  bool Covers(std::uint64_t position) const {
    return position >= offset && position < offset + length;
  }
};

// The chunks of one object that somebody holds. Safe for use from many threads.
class ObjectChunks {
 public:
  // One that covers `position` of the version `etag`, else what `make` gives (null is allowed).
  // Others who ask meanwhile wait, so that nothing is fetched twice.
  std::shared_ptr<Chunk> Get(std::uint64_t position, const std::string& etag,
                             const std::function<std::shared_ptr<Chunk>()>& make);

 private:
  std::mutex mu_;
  std::vector<std::weak_ptr<Chunk>> chunks_;  // guarded by mu_
};

// By object, as long as it has readers. Safe for use from many threads.
class SharedChunks {
 public:
  std::shared_ptr<ObjectChunks> Of(const store::Name& name);

 private:
  std::mutex mu_;
  std::map<std::pair<std::string, std::string>, std::weak_ptr<ObjectChunks>> objects_;
  std::size_t sweep_at_ = 64;  // guarded by mu_, as is the map: its size when the unused go
};

}  // namespace headrace::object
