#include "object/complete.h"

#include "s3/calls.h"
#include "s3/etag.h"

namespace headrace::object {
namespace {

bool MayHaveBeenDone(const Status& error) {
  switch (error.code()) {
    case StatusCode::kNotFound:
    case StatusCode::kTimeout:
    case StatusCode::kUnreachable:
    case StatusCode::kProtocol:
      return true;
    case StatusCode::kAlreadyExists:  // at the first attempt it is somebody else's
      return error.info().attempts >= 2;
    default:
      return false;
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

}  // namespace

Result<std::string> PutWhole(const Context& context, const store::Name& name, const Buffer& data,
                             const PutOptions& options, const std::stop_token& stop) {
  Result<store::WriteReply> reply = context.store->Put(name, data, options).Wait(stop);
  if (reply.ok()) return std::move(reply->etag);
  const Status& error = reply.status();
  if (error.code() != StatusCode::kAlreadyExists || !MayHaveBeenDone(error)) return error;
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
