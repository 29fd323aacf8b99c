#include "s3/reply_builder.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "base/macros.h"
#include "s3/calls.h"
#include "s3/etag.h"
#include "s3/uri.h"

namespace headrace::s3 {
namespace {

constexpr std::uint64_t kFirstGrowth = std::uint64_t{64} << 10;
constexpr std::uint64_t kMuch = std::uint64_t{64} << 10;
// Answers other than objects are read into memory whole: lists are the largest, at about 1 MB.
constexpr std::uint64_t kDocumentLimit = std::uint64_t{64} << 20;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// A login form, an error of a proxy. Content types do not tell: moto calls its empty answers HTML.
bool IsPage(std::string_view body) {
  auto begins = [](std::string_view text, std::string_view with) {
    return text.size() >= with.size() && std::equal(with.begin(), with.end(), text.begin(),
                                                    [](char a, char b) { return a == (b | 0x20); });
  };
  const std::string_view text = Trim(body);
  return begins(text, "<html") || begins(text, "<!doctype");
}

}  // namespace

ReplyBuilder::ReplyBuilder(const S3Request* request, BufferPool* buffers)
    : request_(*request), buffers_(*buffers), etag_(request->etag) {
  Restart();
}

void ReplyBuilder::Restart() {
  reply_ = {};
  has_head_ = false;
  stored_ = running_ = Checksum(ChecksumAlgorithm::kNone);
  grows_ = false;
  buffer_ = {};
  target_ = request_.into.data();
  capacity_ = request_.into.size();
}

S3Reply ReplyBuilder::Take() {
  if (request_.into.empty()) reply_.body = buffer_.Slice(0, reply_.received);
  reply_.verified = !reply_.cut_short && stored_.algorithm() != ChecksumAlgorithm::kNone;
  return std::move(reply_);
}

Status ReplyBuilder::NotFromS3(int status, const net::Headers& headers) const {
  const std::string_view type = headers.Get("Content-Type");
  return Status(StatusCode::kProtocol,
                fmt::format("{} was answered with HTTP {}, {}{}, which is not S3's answer to a "
                            "{}; check the endpoint and what stands between",
                            FormatUri(request_.bucket, request_.key), status,
                            type.empty() ? "no content type" : type,
                            WantsEtag() && !headers.Has("ETag") ? " and no ETag" : "",
                            FactsOf(request_.operation).method));
}

Status ReplyBuilder::Accept(int status, const net::Headers& headers) {
  // Every S3 server sends one; what a gateway puts in between has none.
  if (WantsEtag() && BareEtag(headers.Get("ETag")).empty()) return NotFromS3(status, headers);
  if (request_.operation == Operation::kGet) RETURN_IF_ERROR(AcceptObject(status, headers));
  if (!has_head_) {
    has_head_ = true;
    reply_.status = status;
    reply_.headers = headers;
  }
  const std::optional<std::uint64_t> length = ParseUnsigned(headers.Get("Content-Length"));
  if (request_.operation == Operation::kHead) {
    reply_.object_size = length;
  } else if (reply_.received == 0) {
    StartBody(length);
  }
  return {};
}

Status ReplyBuilder::AcceptObject(int status, const net::Headers& headers) {
  auto refuse = [this](StatusCode code, std::string_view why) {
    return Status(code, fmt::format("{} {}", FormatUri(request_.bucket, request_.key), why));
  };
  const std::string_view etag = BareEtag(headers.Get("ETag"));
  if (status != 200 && status != 206) return NotFromS3(status, headers);
  if (!etag_.empty() && etag != etag_) {
    return refuse(
        StatusCode::kObjectChanged,
        fmt::format("was replaced while it was being read, or since it was listed (ETag "
                    "{} became {}); open it again, or list again, to read the new version",
                    etag_, etag));
  }
  if (etag_.empty()) etag_ = etag;
  const std::uint64_t wanted = next_offset();
  if (status == 206) {
    const std::optional<ContentRange> range = ParseContentRange(headers.Get("Content-Range"));
    if (!range) {
      return refuse(StatusCode::kProtocol,
                    "was answered with 206 but without a valid Content-Range");
    }
    if (range->offset != wanted) {
      return refuse(StatusCode::kProtocol,
                    fmt::format("was asked for bytes from {} on, the server sent them from {} on",
                                wanted, range->offset));
    }
    reply_.object_size = range->size;
  } else if (wanted != 0) {
    return refuse(StatusCode::kUnsupported,
                  "cannot be read in part: the server ignored the Range header; headrace needs a "
                  "server that supports ranged GETs");
  } else {
    reply_.object_size = ParseUnsigned(headers.Get("Content-Length"));
  }
  return {};
}

bool ReplyBuilder::AcceptNothingThere(int status, const net::Headers& headers,
                                      std::uint64_t object_size) {
  if (reply_.received > 0) {
    if (object_size != next_offset()) return false;
  } else {
    if (!request_.range) return false;
    reply_.status = status;
    reply_.headers = headers;
  }
  reply_.object_size = object_size;
  return true;
}

std::uint64_t ReplyBuilder::MostBytes() const {
  if (request_.operation != Operation::kGet) return kDocumentLimit;
  return request_.range ? request_.range->length : request_.keep_at_most;
}

void ReplyBuilder::StartBody(std::optional<std::uint64_t> length) {
  if (request_.operation == Operation::kGet && request_.verify_checksum) {
    stored_ = WholeObjectChecksum(reply_.headers);
    running_ = Checksum(stored_.algorithm());
  }
  if (!request_.into.empty()) return;
  grows_ = !length.has_value();
  capacity_ = std::min(length.value_or(kFirstGrowth), MostBytes());
  buffer_ = buffers_.Allocate(capacity_);
  target_ = buffer_.mutable_data();
}

void ReplyBuilder::Grow(std::uint64_t size) {
  Buffer larger = buffers_.Allocate(std::min(std::max(capacity_ * 2, size), MostBytes()));
  if (reply_.received > 0) std::memcpy(larger.mutable_data(), buffer_.data(), reply_.received);
  capacity_ = larger.size();
  buffer_ = std::move(larger);
  target_ = buffer_.mutable_data();
}

bool ReplyBuilder::Append(std::span<const std::byte> bytes) {
  if (grows_ && reply_.received + bytes.size() > capacity_) Grow(reply_.received + bytes.size());
  const std::size_t n = std::min<std::uint64_t>(bytes.size(), capacity_ - reply_.received);
  std::memcpy(target_ + reply_.received, bytes.data(), n);
  running_.Extend({target_ + reply_.received, n});
  reply_.received += n;
  reply_.cut_short = n < bytes.size();
  return !reply_.cut_short;
}

bool ReplyBuilder::Advanced(std::uint64_t before) const {
  const std::uint64_t gained = reply_.received - before;
  const std::uint64_t whole =
      request_.range ? request_.range->length : reply_.object_size.value_or(UINT64_MAX);
  const std::uint64_t missing = whole - std::min(whole, before);
  return gained > 0 && (gained >= kMuch || 2 * gained >= missing);
}

// As far as its first and last characters tell; whoever needs the document reads the rest.
bool ReplyBuilder::IsAnswer() const {
  switch (FactsOf(request_.operation).answer) {
    case OperationFacts::Answer::kEtag:
      return true;  // seen in the headers
    case OperationFacts::Answer::kDocument:
      return Trim(body()).ends_with('>') && !IsPage(body());
    case OperationFacts::Answer::kNothing:
      break;
  }
  return !IsPage(body());
}

Status ReplyBuilder::Verify() const {
  if (!IsAnswer()) return NotFromS3(reply_.status, reply_.headers);
  const std::string where = FormatUri(request_.bucket, request_.key);
  if (reply_.status == 200 && !reply_.cut_short && running_ != stored_) {
    return Status(
        StatusCode::kChecksumMismatch,
        fmt::format("{}: the bytes received have {} {}, the object was stored with {}", where,
                    ChecksumName(running_.algorithm()), running_.ToHeader(), stored_.ToHeader()));
  }
  if (reply_.status == 206 && request_.range && reply_.object_size) {
    const std::uint64_t there =
        *reply_.object_size - std::min(request_.range->offset, *reply_.object_size);
    const std::uint64_t expected = std::min(request_.range->length, there);
    if (reply_.received < expected) {
      return Status(StatusCode::kProtocol,
                    fmt::format("{}: the server sent {} bytes of the {} it announced", where,
                                reply_.received, expected));
    }
  }
  return {};
}

}  // namespace headrace::s3
