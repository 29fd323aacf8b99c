#include "object/download.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>

#include "base/file_io.h"
#include "base/macros.h"
#include "object/replaced.h"
#include "object/verify.h"

namespace headrace::object {
namespace {

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

// Offsets are the object's.
class Download {
 public:
  Download(const Context& context, store::Name name, int fd, const GetOptions& options,
           const Progress& progress)
      : context_(context), name_(std::move(name)), fd_(fd), options_(options), progress_(progress) {
    if (options.range) begin_ = next_ = options.range->offset;
    if (options.range && options.range->length != UINT64_MAX) {
      end_ = begin_ + options.range->length;
    }
    if (options.size) end_ = std::min(end_, *options.size);
    wanted_end_ = end_;
    info_.bucket = name_.bucket;
    info_.key = name_.key;
    info_.etag = options.if_match;
  }

  Result<ObjectInfo> Run(const std::stop_token& stop) {
    if (known_ && end_ <= begin_) return StatListed(context_, name_, options_, stop);
    while (true) {
      ASSIGN_OR_RETURN(const bool sent, SendAnother(stop));
      if (sent) continue;
      if (parts_.empty()) break;
      ASSIGN_OR_RETURN(const store::ReadReply reply, parts_.front().pending.Wait(stop));
      RETURN_IF_ERROR(Learn(parts_.front(), reply));
      RETURN_IF_ERROR(Write(parts_.front(), reply, stop));
      parts_.pop_front();
    }
    if (verifier_) RETURN_IF_ERROR(verifier_->Finish());
    return std::move(info_);
  }

 private:
  struct Part {
    Pending<store::ReadReply> pending;
    Lease lease;
    std::uint64_t offset;
    std::uint64_t length;
    bool ranged;
  };

  // Whether there was another part to ask for, and memory for it. Waits for memory only with none
  // in hand (base/budget.h).
  Result<bool> SendAnother(const std::stop_token& stop) {
    // Without the first answer the size and the version are unknown: one request until then.
    if (next_ >= end_ || (!known_ && !parts_.empty())) return false;
    const auto wanted =
        static_cast<std::size_t>(std::min(context_.options.part_size, end_ - next_));
    if (parts_.empty()) {
      ASSIGN_OR_RETURN(Lease lease, context_.budget->Acquire(Share::kReads, wanted, stop));
      Send(std::move(lease), wanted);
      return true;
    }
    std::optional<Lease> lease = context_.budget->TryAcquire(Share::kReads, wanted);
    if (!lease) return false;
    Send(std::move(*lease), wanted);
    return true;
  }

  void Send(Lease lease, std::uint64_t length) {
    // The first request of an unknown or small object asks without a range: its checksum comes
    // along.
    const bool whole =
        next_ == 0 && !options_.range && (!known_ || end_ <= context_.options.part_size);
    store::ReadRequest request{.name = name_, .etag = info_.etag};
    if (whole) {
      request.keep_at_most = length;
    } else {
      request.range = store::ReadRequest::Range{next_, length};
    }
    parts_.push_back(
        {context_.store->Read(std::move(request)), std::move(lease), next_, length, !whole});
    next_ += length;
  }

  // What an answer says of the object, unless it is another version's or not what was asked for.
  Status Learn(const Part& part, const store::ReadReply& reply) {
    if (!info_.etag.empty() && !reply.etag.empty() && info_.etag != reply.etag) {
      return Replaced(name_);
    }
    if (known_ && options_.size && reply.object_size != *options_.size) {
      return NotAsListed(name_, reply.object_size, *options_.size);
    }
    if (sure_ && reply.object_size != info_.size) {
      return Status(
          StatusCode::kObjectChanged,
          fmt::format("{} grew or shrank while it was being read; read it again", name_.key));
    }
    const std::uint64_t there = std::min(wanted_end_, reply.object_size);
    const std::uint64_t expected = std::min(part.length, there - std::min(part.offset, there));
    if (reply.received != expected) {
      return Status(StatusCode::kProtocol,
                    fmt::format("{}: {} bytes at {} were asked for, {} came", name_.key, expected,
                                part.offset, reply.received));
    }
    known_ = true;
    sure_ = part.ranged;
    end_ = there;
    info_.size = reply.object_size;
    if (!reply.etag.empty()) {  // else it says no more than that there is nothing
      info_.etag = reply.etag;
      info_.last_modified = reply.last_modified;
      info_.content_type = reply.content_type;
      info_.metadata = reply.metadata;
    }
    return {};
  }

  Status Write(const Part& part, const store::ReadReply& reply, const std::stop_token& stop) {
    if (options_.verify && !reply.verified) {
      if (!verifier_) {
        ASSIGN_OR_RETURN(verifier_, Verifier::Ask(context_, name_, info_.etag, stop));
      }
      verifier_->Extend(reply.data.span());
    }
    RETURN_IF_ERROR(
        WriteAllAt(fd_, reply.data.span(), part.offset - begin_, "writing the local file"));
    if (progress_) progress_(reply.received);
    return {};
  }

  const Context& context_;
  const store::Name name_;
  const int fd_;
  const GetOptions& options_;
  const Progress& progress_;

  std::uint64_t begin_ = 0;
  std::uint64_t next_ = 0;  // the first byte that was not asked for yet
  std::uint64_t end_ = UINT64_MAX;
  std::uint64_t wanted_end_ = UINT64_MAX;   // `end_` as far as the caller knows
  bool known_ = options_.size.has_value();  // the object's size
  bool sure_ = false;  // of the size: a whole answer's length that was not read to its end may lie
  ObjectInfo info_;
  std::optional<Verifier> verifier_;
  std::deque<Part> parts_;
};

}  // namespace

Result<ObjectInfo> DownloadFile(const Context& context, store::Name name, int fd,
                                const GetOptions& options, const std::stop_token& stop,
                                const Progress& progress) {
  RETURN_IF_ERROR(CheckVerify(options));
  return Download(context, std::move(name), fd, options, progress).Run(stop);
}

}  // namespace headrace::object
