#include "object/complete.h"

#include "s3/calls.h"
#include "s3/etag.h"

namespace headrace::object {
namespace {

// Whether what a create-only write found may be its own: at the first attempt it is somebody
// else's.
bool MayBeOurOwn(const Status& error) {
  return error.code() == StatusCode::kAlreadyExists && error.info().attempts >= 2;
}

bool MayHaveBeenDone(const Status& error) {
  switch (error.code()) {
    case StatusCode::kNotFound:
    case StatusCode::kTimeout:
    case StatusCode::kUnreachable:
    case StatusCode::kProtocol:
    case StatusCode::kServerError:
    case StatusCode::kThrottled:
      return true;
    default:
      return MayBeOurOwn(error);
  }
}

bool EtagIsOfParts(const std::string& etag, const std::vector<store::Part>& parts) {
  std::vector<std::string_view> part_etags;
  part_etags.reserve(parts.size());
  for (const store::Part& part : parts) part_etags.push_back(part.etag);
  return s3::MultipartEtag(part_etags) == etag;
}

// Of the parts joined; kNone when one has none.
s3::Checksum ChecksumOfParts(const store::Upload& upload, const std::vector<store::Part>& parts) {
  const s3::Checksum none(s3::ChecksumAlgorithm::kNone);
  const Result<s3::ChecksumAlgorithm> algorithm = s3::ParseChecksumName(upload.checksum_algorithm);
  if (!algorithm.ok()) return none;
  s3::Checksum joined(*algorithm);
  for (const store::Part& part : parts) {
    const Result<s3::StoredChecksum> of_part =
        s3::ParseStoredChecksum(*algorithm, part.checksum, "");
    if (!of_part.ok()) return none;
    joined.Append(of_part->checksum, part.size);
  }
  return joined;
}

// Whether two objects of one size have the same bytes, as far as the service tells without reading
// them.
bool SameBytes(const Context& context, const store::Name& a, const ObjectInfo& a_info,
               const store::Name& b, const ObjectInfo& b_info, const std::stop_token& stop) {
  if (a_info.etag == b_info.etag) return true;
  const Result<store::StoredChecksum> of_a = context.store->ChecksumOf(a).Wait(stop);
  const Result<store::StoredChecksum> of_b = context.store->ChecksumOf(b).Wait(stop);
  return of_a.ok() && of_b.ok() && of_a->etag == a_info.etag && of_b->etag == b_info.etag &&
         of_a->checksum.algorithm() != s3::ChecksumAlgorithm::kNone &&
         of_a->checksum == of_b->checksum;
}

}  // namespace

Result<std::string> PutWhole(const Context& context, const store::Name& name, const Buffer& data,
                             const PutOptions& options, const std::stop_token& stop) {
  Result<store::WriteReply> reply = context.store->Put(name, data, options).Wait(stop);
  if (reply.ok()) return std::move(reply->etag);
  const Status& error = reply.status();
  if (!MayBeOurOwn(error)) return error;
  const Result<ObjectInfo> there = context.store->Stat(name).Wait(stop);
  if (!there.ok() || there->size != data.size()) return error;
  if (there->etag == s3::WholeEtag(data.span())) return there->etag;
  const Result<store::StoredChecksum> stored = context.store->ChecksumOf(name).Wait(stop);
  if (!stored.ok() || stored->checksum.algorithm() == s3::ChecksumAlgorithm::kNone) return error;
  s3::Checksum ours(stored->checksum.algorithm());
  ours.Extend(data.span());
  const bool same = stored->checksum == ours && stored->etag == there->etag;
  return same ? Result<std::string>(there->etag) : error;
}

Result<std::string> CopyWhole(const Context& context, const store::Name& source,
                              const ObjectInfo& source_info, const store::Name& target,
                              const PutOptions& options, const std::string& source_etag,
                              const std::stop_token& stop) {
  Result<store::WriteReply> reply =
      context.store->Copy(source, target, options, source_etag).Wait(stop);
  if (reply.ok()) return std::move(reply->etag);
  const Status& error = reply.status();
  if (!MayBeOurOwn(error)) return error;
  const Result<ObjectInfo> there = context.store->Stat(target).Wait(stop);
  if (!there.ok() || there->size != source_info.size) return error;
  const bool same = SameBytes(context, source, source_info, target, *there, stop);
  return same ? Result<std::string>(there->etag) : error;
}

Result<std::string> CompleteUpload(const Context& context, const store::Upload& upload,
                                   const std::vector<store::Part>& parts, std::uint64_t size,
                                   const std::stop_token& stop) {
  Result<store::WriteReply> reply = context.store->CompleteUpload(upload, parts).Wait(stop);
  if (reply.ok()) return std::move(reply->etag);
  if (!MayHaveBeenDone(reply.status())) return reply.status();
  const Result<ObjectInfo> there = context.store->Stat(upload.name).Wait(stop);
  if (!there.ok() || there->size != size) return reply.status();
  if (EtagIsOfParts(there->etag, parts)) return there->etag;
  const Result<store::StoredChecksum> stored = context.store->ChecksumOf(upload.name).Wait(stop);
  const s3::Checksum ours = ChecksumOfParts(upload, parts);
  const bool same = stored.ok() && ours.algorithm() != s3::ChecksumAlgorithm::kNone &&
                    stored->checksum == ours && stored->etag == there->etag;
  return same ? Result<std::string>(there->etag) : reply.status();
}

}  // namespace headrace::object
