#include "api/client_impl.h"

#include <cstring>
#include <fmt/format.h>

#include "api/adapters.h"
#include "api/client_options.h"
#include "base/macros.h"
#include "object/copy.h"
#include "object/delete_keys.h"
#include "object/download.h"
#include "object/fetch.h"
#include "object/upload.h"
#include "s3/etag.h"
#include "store/file_store.h"
#include "store/memory_store.h"

namespace headrace {

std::string_view Version() { return HEADRACE_VERSION; }

Result<std::shared_ptr<Client>> Client::Open(const ClientOptions& options) {
  RETURN_IF_ERROR(api::Validate(options));
  auto clock = std::make_unique<const RealClock>();
  ASSIGN_OR_RETURN(s3::EngineOptions engine, api::ResolveEngineOptions(options, clock.get()));
  return std::shared_ptr<Client>(
      std::make_shared<api::ClientImpl>(options, std::move(engine), std::move(clock)));
}

void Client::AbandonAfterFork(std::shared_ptr<Client>& client) {
  if (client == nullptr) return;
  static_cast<api::ClientImpl&>(*client).CloseInheritedDescriptors();
  // Never destroyed: its threads are the parent's, and one of them may have held any of its locks.
  new std::shared_ptr<Client>(std::move(client));
  client.reset();
}

}  // namespace headrace

namespace headrace::api {
namespace {

// Callers give ETags as they have them, often in quotes; below here they are compared without.
template <typename Options>
Options WithBareEtag(Options options) {
  options.if_match = std::string(s3::BareEtag(options.if_match));
  return options;
}

}  // namespace

ClientImpl::ClientImpl(const ClientOptions& options, s3::EngineOptions engine_options,
                       std::unique_ptr<const Clock> clock)
    : clock_(std::move(clock)),
      budget_(MemoryBudget::Split(MemoryLimit(options))),
      buffers_(budget_.limit(Share::kReads)),
      engine_(std::move(engine_options), &buffers_, clock_.get()),
      s3_(&engine_),
      memory_(store::MakeMemoryStore()),
      files_(store::MakeFileStore(&buffers_)) {
  const object::TransferOptions transfer{.part_size = options.part_size,
                                         .multipart_threshold = options.multipart_threshold,
                                         .copy_threshold = options.copy_threshold};
  s3_context_ = {&s3_, &budget_, &buffers_, &s3_chunks_, transfer};
  memory_context_ = {memory_.get(), &budget_, &buffers_, &memory_chunks_, transfer};
  file_context_ = {files_.get(), &budget_, &buffers_, &file_chunks_, transfer};

  engine_.metrics().RegisterAll(registry_);
  for (const Share share : {Share::kReads, Share::kLookAhead, Share::kUploads}) {
    const Registry::Labels labels = {{"share", ShareName(share)}};
    registry_.Add(
        "headrace_budget_used_bytes", "Memory held, by share of the budget.",
        [this, share] { return static_cast<double>(budget_.in_use(share)); }, labels);
    registry_.Add(
        "headrace_budget_limit_bytes", "Memory that may be held, by share.",
        [this, share] { return static_cast<double>(budget_.limit(share)); }, labels);
  }
}

Result<ClientImpl::Place> ClientImpl::Find(std::string_view uri, bool needs_key) const {
  ASSIGN_OR_RETURN(Address address, ParseAddress(uri));
  if (needs_key && address.key.empty()) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} names no object: add a key, as in s3://bucket/key", uri));
  }
  if (address.key.size() > 1024 && address.scheme != Address::Scheme::kFile) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("the key is {} bytes long; S3 allows 1,024", address.key.size()));
  }
  const object::Context* context = address.scheme == Address::Scheme::kS3     ? &s3_context_
                                   : address.scheme == Address::Scheme::kFile ? &file_context_
                                                                              : &memory_context_;
  std::string text = FormatAddress(address);
  return Place{context, {std::move(address.bucket), std::move(address.key)}, std::move(text)};
}

Result<ClientImpl::Place> ClientImpl::FindBucket(std::string_view uri) const {
  ASSIGN_OR_RETURN(Place place, Find(uri, false));
  if (place.name.bucket.empty() || !place.name.key.empty()) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} names no bucket: write s3://bucket", uri));
  }
  return place;
}

Result<ObjectInfo> ClientImpl::Head(std::string_view uri, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Place place, Find(uri, true));
  return place.context->store->Stat(place.name).Wait(stop);
}

Result<Object> ClientImpl::Get(std::string_view uri, const GetOptions& options,
                               std::stop_token stop) {
  ASSIGN_OR_RETURN(Place place, Find(uri, true));
  ASSIGN_OR_RETURN(
      object::Fetched fetched,
      object::FetchNow(*place.context, {std::move(place.name), WithBareEtag(options)}, stop));
  return Object{std::move(place.uri), std::move(fetched.etag), fetched.object_size,
                std::move(fetched.data)};
}

std::unique_ptr<GetBatch> ClientImpl::GetMany(std::vector<GetItem> items,
                                              const GetManyOptions& options) {
  std::vector<BatchItem> batch;
  batch.reserve(items.size());
  const object::Context* context = nullptr;
  const Status allowed = CheckMaxInFlight(options.max_in_flight);
  for (GetItem& item : items) {
    Result<Place> place = Find(item.uri, true);
    if (place.ok() && context != nullptr && place->context != context) {
      place = Status(StatusCode::kUnsupported,
                     fmt::format("{}: one batch reads from one kind of storage", item.uri));
    }
    if (place.ok() && item.options.verify) {
      place = Status(StatusCode::kUnsupported,
                     fmt::format("{}: a batch does not verify; read it with Get", item.uri));
    }
    if (place.ok() && !allowed.ok()) place = allowed;
    if (!place.ok()) {
      batch.push_back({.uri = std::move(item.uri), .rejected = place.status(), .fetch = {}});
      continue;
    }
    context = place->context;
    batch.push_back({.uri = std::move(place->uri),
                     .rejected = Status(),
                     .fetch = {std::move(place->name), WithBareEtag(std::move(item.options))}});
  }
  return std::make_unique<GetBatchAdapter>(context != nullptr ? context : &s3_context_,
                                           std::move(batch), options);
}

Result<std::string> ClientImpl::Put(std::string_view uri, std::span<const std::byte> data,
                                    const PutOptions& options, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Place place, Find(uri, true));
  PutOptions sized = options;
  sized.expected_size = data.size();
  object::Writer writer(place.context, place.name, sized);
  RETURN_IF_ERROR(writer.Write(data, stop));
  return writer.Close(stop);
}

Result<std::string> ClientImpl::Upload(const std::string& path, std::string_view uri,
                                       const PutOptions& options, std::stop_token stop,
                                       const std::function<void(std::uint64_t)>& progress) {
  ASSIGN_OR_RETURN(const Place place, Find(uri, true));
  return object::UploadFile(*place.context, path, place.name, options, stop, progress);
}

Result<ObjectInfo> ClientImpl::Download(std::string_view uri, int fd, const GetOptions& options,
                                        std::stop_token stop,
                                        const std::function<void(std::uint64_t)>& progress) {
  ASSIGN_OR_RETURN(const Place place, Find(uri, true));
  return object::DownloadFile(*place.context, place.name, fd, WithBareEtag(options), stop,
                              progress);
}

Result<std::unique_ptr<headrace::Lister>> ClientImpl::List(std::string_view uri,
                                                           const ListOptions& options) {
  ASSIGN_OR_RETURN(Place place, Find(uri, false));
  store::ListRequest request{.bucket = std::move(place.name.bucket),
                             .prefix = std::move(place.name.key),
                             .delimited = options.delimited,
                             .start_after = options.start_after};
  return std::unique_ptr<headrace::Lister>(
      std::make_unique<ListerAdapter>(place.context, std::move(request), options.parallel));
}

std::vector<Status> ClientImpl::Delete(std::span<const std::string> uris, std::stop_token stop) {
  std::vector<Status> statuses(uris.size());
  std::map<const object::Context*, std::pair<std::vector<std::size_t>, std::vector<store::Name>>>
      groups;
  for (std::size_t i = 0; i < uris.size(); ++i) {
    Result<Place> place = Find(uris[i], true);
    if (!place.ok()) {
      statuses[i] = place.status();
      continue;
    }
    auto& [places, names] = groups[place->context];
    places.push_back(i);
    names.push_back(std::move(place->name));
  }
  for (const auto& [context, group] : groups) {
    const std::vector<Status> done = object::DeleteKeys(*context, group.second, stop);
    for (std::size_t i = 0; i < done.size(); ++i) statuses[group.first[i]] = done[i];
  }
  return statuses;
}

Result<std::string> ClientImpl::Copy(std::string_view source, std::string_view target,
                                     const PutOptions& options, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Place from, Find(source, true));
  ASSIGN_OR_RETURN(const Place to, Find(target, true));
  if (from.context == to.context && from.context != &file_context_) {
    return object::CopyWithin(*from.context, from.name, to.name, options, stop);
  }
  return object::CopyBetween(*from.context, from.name, *to.context, to.name, options, stop);
}

Result<std::unique_ptr<headrace::Reader>> ClientImpl::OpenReader(std::string_view uri,
                                                                 const ReaderOptions& options) {
  ASSIGN_OR_RETURN(Place place, Find(uri, true));
  auto reader =
      std::make_unique<ReaderAdapter>(place.context, std::move(place.name), WithBareEtag(options));
  // Whoever opens an object reads it, as a rule from its beginning; and the first answer tells the
  // size.
  reader->Prefetch(0);
  return std::unique_ptr<headrace::Reader>(std::move(reader));
}

Result<std::unique_ptr<headrace::Writer>> ClientImpl::OpenWriter(std::string_view uri,
                                                                 const PutOptions& options) {
  ASSIGN_OR_RETURN(Place place, Find(uri, true));
  return std::unique_ptr<headrace::Writer>(
      std::make_unique<WriterAdapter>(place.context, std::move(place.name), options));
}

Status ClientImpl::CreateBucket(std::string_view bucket, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Place place, FindBucket(bucket));
  return place.context->store->CreateBucket(place.name.bucket).Wait(stop).status();
}

Status ClientImpl::DeleteBucket(std::string_view bucket, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Place place, FindBucket(bucket));
  return place.context->store->DeleteBucket(place.name.bucket).Wait(stop).status();
}

Result<std::vector<std::string>> ClientImpl::ListBuckets(std::stop_token stop) {
  return s3_.ListBuckets().Wait(stop);
}

std::vector<std::pair<std::string, double>> ClientImpl::Metrics() const {
  return registry_.Values();
}

std::string ClientImpl::PrometheusText() const { return registry_.PrometheusText(); }

}  // namespace headrace::api
