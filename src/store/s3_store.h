// The Store over an S3 engine.
#pragma once

#include "s3/engine.h"
#include "s3/xml.h"
#include "store/store.h"

namespace headrace::store {

// What became of each of `keys` in a batch delete that reported `failures`: those not named were
// deleted. A failure of a key that was not asked for (one that the service changed on the way) may
// be that of any key without an answer of its own, so all of those get it. Public for tests.
std::vector<Status> DeleteStatuses(const std::string& bucket, const std::vector<std::string>& keys,
                                   const std::vector<s3::DeleteFailure>& failures);

class S3Store final : public Store {
 public:
  // The engine outlives the store. `min_part_size` is the service's, in bytes: 5 MiB on S3.
  explicit S3Store(s3::Engine* engine, std::uint64_t min_part_size = std::uint64_t{5} << 20)
      : engine_(*engine), min_part_size_(min_part_size) {}

  Capabilities capabilities() const override;
  Pending<ReadReply> Read(ReadRequest request) override;
  Pending<ObjectInfo> Stat(const Name& name) override;
  Pending<StoredChecksum> ChecksumOf(const Name& name) override;
  Pending<std::map<std::string, std::string>> TagsOf(const Name& name) override;
  Pending<s3::ListPage> List(const ListRequest& request) override;
  Pending<WriteReply> Put(const Name& name, Buffer data, const PutOptions& options) override;
  Pending<Upload> CreateUpload(const Name& name, const PutOptions& options) override;
  Pending<Part> UploadPart(const Upload& upload, int number, Buffer data) override;
  Pending<WriteReply> CompleteUpload(const Upload& upload, const std::vector<Part>& parts) override;
  Pending<Nothing> AbortUpload(const Upload& upload) override;
  Pending<Nothing> Delete(const Name& name) override;
  Pending<std::vector<Status>> DeleteMany(const std::string& bucket,
                                          const std::vector<std::string>& keys) override;
  Pending<WriteReply> Copy(const Name& source, const Name& target, const PutOptions& options,
                           const std::string& source_etag) override;
  Pending<Part> CopyPart(const Upload& upload, int number, const Name& source,
                         ReadRequest::Range range, const std::string& source_etag) override;
  Pending<Nothing> CreateBucket(const std::string& bucket) override;
  Pending<Nothing> DeleteBucket(const std::string& bucket) override;
  Pending<std::vector<std::string>> ListBuckets() override;

 private:
  s3::Engine& engine_;
  const std::uint64_t min_part_size_;
};

}  // namespace headrace::store
