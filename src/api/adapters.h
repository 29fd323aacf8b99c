// The public streams (batch, lister, reader, writer) over those of the object module.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headrace/client.h"
#include "object/get_many.h"
#include "object/lister.h"
#include "object/parallel_lister.h"
#include "object/reader.h"
#include "object/writer.h"

namespace headrace::api {

// An address of a batch: to be fetched, or refused beforehand.
struct BatchItem {
  std::string uri;
  Status rejected;  // OK: fetch it
  object::FetchItem fetch;
};

class GetBatchAdapter final : public GetBatch {
 public:
  GetBatchAdapter(const object::Context* context, std::vector<BatchItem> items,
                  const headrace::GetManyOptions& options);
  std::optional<Item> Next(std::stop_token stop) override;
  bool Ready() override { return RejectedIsNext() || batch_.Ready(); }

 private:
  bool RejectedIsNext() const;

  std::vector<std::string> uris_;
  bool ordered_;
  std::vector<std::size_t> places_;                       // of the fetched, in the whole batch
  std::vector<std::pair<std::size_t, Status>> rejected_;  // by place
  std::size_t next_rejected_ = 0;
  std::size_t given_ = 0;
  object::GetMany batch_;
};

class ListerAdapter final : public headrace::Lister {
 public:
  ListerAdapter(const object::Context* context, store::ListRequest request, bool parallel);
  Result<std::span<const ListEntry>> NextPage(std::stop_token stop) override;

 private:
  // One of the two.
  std::unique_ptr<object::Lister> serial_;
  std::unique_ptr<object::ParallelLister> parallel_;
  s3::ListPage page_;
  std::vector<ListEntry> entries_;
};

class ReaderAdapter final : public headrace::Reader {
 public:
  ReaderAdapter(const object::Context* context, store::Name name, const ReaderOptions& options)
      : reader_(context, std::move(name), options) {}
  Result<std::size_t> ReadAt(std::uint64_t offset, std::span<std::byte> out,
                             std::stop_token stop) override {
    return reader_.ReadAt(offset, out, stop);
  }
  Result<std::uint64_t> Size(std::stop_token stop) override { return reader_.Size(stop); }
  void Prefetch(std::uint64_t offset) override { reader_.Prefetch(offset); }
  std::string Etag() const override { return reader_.etag(); }

 private:
  object::Reader reader_;
};

class WriterAdapter final : public headrace::Writer {
 public:
  WriterAdapter(const object::Context* context, store::Name name, const PutOptions& options)
      : writer_(context, std::move(name), options) {}
  Status Write(std::span<const std::byte> bytes, std::stop_token stop) override {
    return writer_.Write(bytes, stop);
  }
  Result<std::string> Close(std::stop_token stop) override { return writer_.Close(stop); }
  void Abort() override { writer_.Abort(); }
  std::uint64_t written() const override { return writer_.written(); }

 private:
  object::Writer writer_;
};

}  // namespace headrace::api
