// headrace::Client over the engine's modules.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/budget.h"
#include "base/buffer_pool.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "headrace/client.h"
#include "object/context.h"
#include "s3/engine.h"
#include "store/s3_store.h"

namespace headrace::api {

class ClientImpl final : public Client {
 public:
  // `clock` is what the engine's options point to.
  ClientImpl(const ClientOptions& options, s3::EngineOptions engine_options,
             std::unique_ptr<const Clock> clock);

  Result<ObjectInfo> Head(std::string_view uri, std::stop_token stop) override;
  Result<Object> Get(std::string_view uri, const GetOptions& options,
                     std::stop_token stop) override;
  std::unique_ptr<GetBatch> GetMany(std::vector<GetItem> items,
                                    const GetManyOptions& options) override;
  Result<std::string> Put(std::string_view uri, std::span<const std::byte> data,
                          const PutOptions& options, std::stop_token stop) override;
  Result<std::string> Upload(const std::string& path, std::string_view uri,
                             const PutOptions& options, std::stop_token stop,
                             const std::function<void(std::uint64_t)>& progress) override;
  Result<ObjectInfo> Download(std::string_view uri, int fd, const GetOptions& options,
                              std::stop_token stop,
                              const std::function<void(std::uint64_t)>& progress) override;
  Result<std::unique_ptr<headrace::Lister>> List(std::string_view uri,
                                                 const ListOptions& options) override;
  std::vector<Status> Delete(std::span<const std::string> uris, std::stop_token stop) override;
  Result<std::string> Copy(std::string_view source, std::string_view target,
                           const PutOptions& options, std::stop_token stop) override;
  Result<std::unique_ptr<headrace::Reader>> OpenReader(std::string_view uri,
                                                       const ReaderOptions& options) override;
  Result<std::unique_ptr<headrace::Writer>> OpenWriter(std::string_view uri,
                                                       const PutOptions& options) override;
  Status CreateBucket(std::string_view bucket, std::stop_token stop) override;
  Status DeleteBucket(std::string_view bucket, std::stop_token stop) override;
  Result<std::vector<std::string>> ListBuckets(std::stop_token stop) override;
  std::vector<std::pair<std::string, double>> Metrics() const override;
  std::string PrometheusText() const override;

  // See s3::Engine. Once: later the same numbers may be somebody else's descriptors.
  void CloseInheritedDescriptors() {
    if (!descriptors_closed_.exchange(true)) engine_.CloseInheritedDescriptors();
  }

 private:
  struct Place {
    const object::Context* context;
    store::Name name;
    std::string uri;  // for messages
  };
  // Where an address leads. `needs_key`: a bucket alone is refused.
  Result<Place> Find(std::string_view uri, bool needs_key) const;
  Result<Place> FindBucket(std::string_view uri) const;

  std::atomic<bool> descriptors_closed_{false};
  std::unique_ptr<const Clock> clock_;
  MemoryBudget budget_;
  BufferPool buffers_;
  s3::Engine engine_;
  store::S3Store s3_;
  std::unique_ptr<store::Store> memory_;
  std::unique_ptr<store::Store> files_;
  object::SharedChunks s3_chunks_;
  object::SharedChunks memory_chunks_;
  object::SharedChunks file_chunks_;
  object::Context s3_context_;
  object::Context memory_context_;
  object::Context file_context_;
  Registry registry_;
};

}  // namespace headrace::api
