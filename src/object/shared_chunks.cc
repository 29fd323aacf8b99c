#include "object/shared_chunks.h"

#include <algorithm>

namespace headrace::object {
namespace {

// Whether the chunk is, or will be, of the version `etag`. One that failed is nobody's.
bool IsOf(const Chunk& chunk, const std::string& etag) {
  if (!chunk.pending.ready()) return chunk.etag == etag;
  const Result<store::ReadReply>& reply = chunk.pending.value();
  return reply.ok() && reply->etag == etag;
}

}  // namespace

std::shared_ptr<Chunk> ObjectChunks::Get(std::uint64_t position, const std::string& etag,
                                         const std::function<std::shared_ptr<Chunk>()>& make) {
  std::lock_guard lock(mu_);
  std::erase_if(chunks_, [](const std::weak_ptr<Chunk>& chunk) { return chunk.expired(); });
  if (!etag.empty()) {
    for (const std::weak_ptr<Chunk>& held : chunks_) {
      std::shared_ptr<Chunk> chunk = held.lock();
      if (chunk != nullptr && chunk->Covers(position) && IsOf(*chunk, etag)) return chunk;
    }
  }
  std::shared_ptr<Chunk> made = make();
  if (made != nullptr) chunks_.push_back(made);
  return made;
}

std::shared_ptr<ObjectChunks> SharedChunks::Of(const store::Name& name) {
  std::lock_guard lock(mu_);
  if (objects_.size() >= sweep_at_) {
    std::erase_if(objects_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<std::size_t>(64, 2 * objects_.size());
  }
  std::weak_ptr<ObjectChunks>& held = objects_[{name.bucket, name.key}];
  std::shared_ptr<ObjectChunks> chunks = held.lock();
  if (chunks == nullptr) held = chunks = std::make_shared<ObjectChunks>();
  return chunks;
}

}  // namespace headrace::object
