#include "object/transfer.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_io.h"
#include "base/macros.h"
#include "object/complete.h"
#include "object/reader.h"
#include "object/replaced.h"
#include "object/verify.h"
#include "object/writer.h"
#include "s3/xml.h"

namespace headrace::object {
namespace {

constexpr std::size_t kDeleteBatch = 1000;

Status FileError(const char* what, const std::string& path) {
  const int error = errno;
  return ErrnoStatus(error, fmt::format("{} {}", what, path));
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

Status NotAsListed(const store::Name& name, std::uint64_t size, std::uint64_t listed) {
  return Status(StatusCode::kObjectChanged,
                fmt::format("{} has {} bytes, not the {} that were listed: it was replaced",
                            name.key, size, listed));
}

// For a download of no bytes: what is there, provided that it is what was listed.
Result<ObjectInfo> StatListed(const Context& context, const store::Name& name,
                              const GetOptions& options, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(ObjectInfo info, context.store->Stat(name).Wait(stop));
  if (options.size && info.size != *options.size) {
    return NotAsListed(name, info.size, *options.size);
  }
  const bool both = !options.if_match.empty() && !info.etag.empty();
  if (both && info.etag != options.if_match) return Replaced(name);
  return info;
}

Result<std::string> CopyInParts(const Context& context, const store::Name& source,
                                const ObjectInfo& info, const store::Name& target,
                                const PutOptions& options, const std::stop_token& stop) {
  store::Store& store = *context.store;
  const store::Capabilities capabilities = store.capabilities();
  ASSIGN_OR_RETURN(const store::Upload upload, store.CreateUpload(target, options).Wait(stop));
  const auto max_parts = static_cast<std::uint64_t>(capabilities.max_parts);
  const std::uint64_t size = info.size;
  const std::uint64_t part_size =
      std::max({std::uint64_t{context.options.part_size}, capabilities.min_part_size,
                (size + max_parts - 1) / max_parts});
  std::vector<Pending<store::Part>> pending;
  for (std::uint64_t offset = 0; offset < size; offset += part_size) {
    pending.push_back(store.CopyPart(upload, static_cast<int>(pending.size()) + 1, source,
                                     {offset, std::min(part_size, size - offset)}, info.etag));
  }
  std::vector<store::Part> parts;
  Status failed;
  for (Pending<store::Part>& p : pending) {
    Result<store::Part> part = p.Wait(stop);
    if (!part.ok()) {
      failed = part.status();
      break;
    }
    parts.push_back(std::move(*part));
  }
  pending.clear();
  if (failed.ok()) {
    Result<std::string> etag = CompleteUpload(context, upload, parts, size, stop);
    if (etag.ok()) return etag;
    failed = etag.status();
  }
  (void)store.AbortUpload(upload).Wait({}, Deadline::After(std::chrono::seconds(10)));
  return failed;
}

}  // namespace

Result<std::string> UploadFile(const Context& context, const std::string& path, store::Name name,
                               const PutOptions& options, const std::stop_token& stop,
                               const Progress& progress) {
  File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return FileError("opening", path);
  struct stat st {};
  if (fstat(file.fd(), &st) != 0) return FileError("reading", path);
  if (S_ISDIR(st.st_mode)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} is a directory; upload its files (cp --recursive)", path));
  }
  PutOptions with_size = options;
  const bool regular = S_ISREG(st.st_mode);
  if (regular) with_size.expected_size = static_cast<std::uint64_t>(st.st_size);
  Writer writer(&context, std::move(name), with_size);
  std::uint64_t reported = 0;
  auto report = [&] {
    if (progress && writer.acknowledged() > reported) progress(writer.acknowledged() - reported);
    reported = writer.acknowledged();
  };
  // All that a regular file promised; anything else until it ends.
  while (!regular || writer.written() < *with_size.expected_size) {
    ASSIGN_OR_RETURN(const std::span<std::byte> room, writer.Room(stop));
    const ssize_t n = read(file.fd(), room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("reading", path);
    if (n == 0) break;
    writer.Filled(static_cast<std::size_t>(n));
    report();
  }
  std::byte more{};
  const bool grew = regular && read(file.fd(), &more, 1) > 0;
  if (grew || (regular && writer.written() != *with_size.expected_size)) {
    return Status(
        StatusCode::kIo,
        fmt::format("{} changed while it was uploaded (it had {} bytes); nothing was stored", path,
                    st.st_size));
  }
  ASSIGN_OR_RETURN(std::string etag, writer.Close(stop));
  report();
  return etag;
}

Result<ObjectInfo> DownloadFile(const Context& context, store::Name name, int fd,
                                const GetOptions& options, const std::stop_token& stop,
                                const Progress& progress) {
  struct Part {
    Pending<store::ReadReply> pending;
    Lease lease;
    std::uint64_t offset;
    std::uint64_t length;
    bool ranged;
  };
  RETURN_IF_ERROR(CheckVerify(options));
  std::optional<Verifier> verifier;
  const std::uint64_t part_size = context.options.part_size;
  const std::uint64_t begin = options.range ? options.range->offset : 0;
  std::uint64_t end = UINT64_MAX;
  if (options.range && options.range->length != UINT64_MAX) end = begin + options.range->length;
  if (options.size) end = std::min(end, *options.size);
  const std::uint64_t wanted_end = end;

  ObjectInfo info{.bucket = name.bucket, .key = name.key, .etag = options.if_match};
  std::deque<Part> parts;
  std::uint64_t next = begin;
  bool known = options.size.has_value();
  bool sure = false;  // of the size: a whole answer's length that was not read to its end may lie
  auto send = [&](Lease lease) {
    // The first request of an unknown or small object asks without a range: its checksum comes
    // along.
    const bool whole = next == 0 && !options.range && (!known || end <= part_size);
    const std::uint64_t length = std::min(part_size, end - next);
    store::ReadRequest request{.name = name, .etag = info.etag};
    if (whole) {
      request.keep_at_most = length;
    } else {
      request.range = store::ReadRequest::Range{next, length};
    }
    parts.push_back(
        {context.store->Read(std::move(request)), std::move(lease), next, length, !whole});
    next += length;
  };
  if (known && end <= begin) return StatListed(context, name, options, stop);
  while (true) {
    // Without the first answer the size and the version are unknown: one request until then.
    const bool more = next < end && (known || parts.empty());
    if (more) {
      const auto wanted = static_cast<std::size_t>(std::min(part_size, end - next));
      if (parts.empty()) {
        ASSIGN_OR_RETURN(Lease lease, context.budget->Acquire(Share::kReads, wanted, stop));
        send(std::move(lease));
        continue;
      }
      if (std::optional<Lease> lease = context.budget->TryAcquire(Share::kReads, wanted)) {
        send(std::move(*lease));
        continue;
      }
    }
    if (parts.empty()) break;
    ASSIGN_OR_RETURN(const store::ReadReply reply, parts.front().pending.Wait(stop));
    const Part& part = parts.front();
    if (!info.etag.empty() && !reply.etag.empty() && info.etag != reply.etag) {
      return Replaced(name);
    }
    if (known && options.size && reply.object_size != *options.size) {
      return NotAsListed(name, reply.object_size, *options.size);
    }
    if (sure && reply.object_size != info.size) {
      return Status(
          StatusCode::kObjectChanged,
          fmt::format("{} grew or shrank while it was being read; read it again", name.key));
    }
    const std::uint64_t there = std::min(wanted_end, reply.object_size);
    const std::uint64_t expected = std::min(part.length, there - std::min(part.offset, there));
    if (reply.received != expected) {
      return Status(StatusCode::kProtocol,
                    fmt::format("{}: {} bytes at {} were asked for, {} came", name.key, expected,
                                part.offset, reply.received));
    }
    known = true;
    sure = part.ranged;
    end = there;
    info.size = reply.object_size;
    if (!reply.etag.empty()) {  // else it says no more than that there is nothing
      info.etag = reply.etag;
      info.last_modified = reply.last_modified;
      info.content_type = reply.content_type;
      info.metadata = reply.metadata;
    }
    if (options.verify && !reply.verified) {
      if (!verifier) {
        ASSIGN_OR_RETURN(verifier, Verifier::Ask(context, name, info.etag, stop));
      }
      verifier->Extend(reply.data.span());
    }
    RETURN_IF_ERROR(
        WriteAllAt(fd, reply.data.span(), part.offset - begin, "writing the local file"));
    if (progress) progress(reply.received);
    parts.pop_front();
  }
  if (verifier) RETURN_IF_ERROR(verifier->Finish());
  return info;
}

Result<std::string> CopyWithin(const Context& context, const store::Name& source,
                               const store::Name& target, const PutOptions& options,
                               const std::stop_token& stop) {
  store::Store& store = *context.store;
  ASSIGN_OR_RETURN(const ObjectInfo info, store.Stat(source).Wait(stop));
  const std::uint64_t at_once =
      std::min(context.options.copy_threshold, store.capabilities().max_put_size);
  const bool in_parts = info.size > at_once;
  // Where one of the two is given, the service takes both from us; where it copies parts, all.
  PutOptions kept = options;
  if (in_parts || !options.content_type.empty() || !options.metadata.empty()) {
    if (kept.content_type.empty()) kept.content_type = info.content_type;
    if (kept.metadata.empty()) kept.metadata = info.metadata;
  }
  if (!in_parts) {
    ASSIGN_OR_RETURN(store::WriteReply reply, store.Copy(source, target, kept).Wait(stop));
    return std::move(reply.etag);
  }
  if (kept.tags.empty()) {
    Result<std::map<std::string, std::string>> tags = store.TagsOf(source).Wait(stop);
    if (!tags.ok()) return tags.status().WithContext("copying the tags of " + source.key);
    kept.tags = std::move(*tags);
  }
  kept.checksum_algorithm = "none";  // the service computes its own
  return CopyInParts(context, source, info, target, kept, stop);
}

Result<std::string> CopyBetween(const Context& source_context, const store::Name& source,
                                const Context& target_context, const store::Name& target,
                                const PutOptions& options, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const ObjectInfo info, source_context.store->Stat(source).Wait(stop));
  PutOptions kept = options;
  if (kept.content_type.empty()) kept.content_type = info.content_type;
  if (kept.metadata.empty()) kept.metadata = info.metadata;
  kept.expected_size = info.size;
  Reader reader(&source_context, source, {.size = info.size, .if_match = info.etag});
  Writer writer(&target_context, target, kept);
  std::uint64_t offset = 0;
  while (offset < info.size) {
    ASSIGN_OR_RETURN(const std::span<std::byte> room, writer.Room(stop));
    ASSIGN_OR_RETURN(const std::size_t n, reader.ReadAt(offset, room, stop));
    if (n == 0) {
      return Status(StatusCode::kProtocol,
                    fmt::format("{} ended before its {} bytes", source.key, info.size));
    }
    writer.Filled(n);
    offset += n;
  }
  return writer.Close(stop);
}

std::vector<Status> DeleteKeys(const Context& context, std::span<const store::Name> names,
                               const std::stop_token& stop) {
  struct Batch {
    std::vector<std::size_t> places;
    std::vector<std::string> keys;
    Pending<std::vector<Status>> pending;
  };
  std::vector<Status> statuses(names.size());
  std::map<std::string, Batch> open;
  std::vector<Batch> sent;
  std::vector<std::pair<std::size_t, Pending<store::Nothing>>> single;
  auto send = [&](const std::string& bucket, Batch& batch) {
    batch.pending = context.store->DeleteMany(bucket, batch.keys);
    sent.push_back(std::move(batch));
    batch = {};
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const store::Name& name = names[i];
    if (!s3::XmlCanCarry(name.key) || names.size() == 1) {
      single.emplace_back(i, context.store->Delete(name));
      continue;
    }
    Batch& batch = open[name.bucket];
    batch.places.push_back(i);
    batch.keys.push_back(name.key);
    if (batch.keys.size() == kDeleteBatch) send(name.bucket, batch);
  }
  for (auto& [bucket, batch] : open) {
    if (!batch.keys.empty()) send(bucket, batch);
  }
  for (Batch& batch : sent) {
    const Result<std::vector<Status>> result = batch.pending.Wait(stop);
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      statuses[batch.places[i]] = result.ok() ? (*result)[i] : result.status();
    }
  }
  for (auto& [place, pending] : single) statuses[place] = pending.Wait(stop).status();
  return statuses;
}

}  // namespace headrace::object
