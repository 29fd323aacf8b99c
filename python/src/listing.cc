#include "listing.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace headrace::python {
namespace {

constexpr std::size_t kFlushAt = std::size_t{1} << 20;
constexpr unsigned char kPackedEtag = 255;

Status FromErrno(const char* what) {
  return Status(StatusCode::kIo, std::string(what) + ": " + std::generic_category().message(errno));
}

void AppendVarint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

std::uint64_t TakeVarint(std::string_view& in) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Most ETags are 32 hex digits: half of that is enough.
void AppendEtag(std::string& out, std::string_view etag) {
  bool hex = etag.size() == 32;
  for (const char c : etag) hex = hex && HexDigit(c) >= 0;
  if (!hex) {
    if (etag.size() >= kPackedEtag) etag = {};  // longer than any service's: goes unchecked
    out.push_back(static_cast<char>(etag.size()));
    out.append(etag);
    return;
  }
  out.push_back(static_cast<char>(kPackedEtag));
  for (std::size_t i = 0; i < 32; i += 2) {
    out.push_back(static_cast<char>(HexDigit(etag[i]) * 16 + HexDigit(etag[i + 1])));
  }
}

void AppendHex(std::string& out, unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  out.push_back(kDigits[byte >> 4]);
  out.push_back(kDigits[byte & 15]);
}

std::string TakeEtag(std::string_view& in) {
  if (in.empty()) return {};
  const auto length = static_cast<unsigned char>(in.front());
  in.remove_prefix(1);
  std::string etag;
  if (length == kPackedEtag && in.size() >= 16) {
    for (int i = 0; i < 16; ++i) AppendHex(etag, static_cast<unsigned char>(in[i]));
    in.remove_prefix(16);
  } else {
    etag = in.substr(0, length);
    in.remove_prefix(std::min<std::size_t>(length, in.size()));
  }
  return etag;
}

}  // namespace

Result<std::unique_ptr<Listing>> Listing::FromDescriptor(int fd) {
  struct stat file {};
  if (fstat(fd, &file) != 0) {
    const Status error = FromErrno("reading a listing");
    close(fd);
    return error;
  }
  const auto length = static_cast<std::size_t>(file.st_size);
  const Status bad(StatusCode::kInvalidArgument, "the descriptor holds no listing");
  if (length < sizeof(Footer)) {
    close(fd);
    return bad;
  }
  void* mapped = mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) {
    const Status error = FromErrno("mapping a listing");
    close(fd);
    return error;
  }
  const char* begin = static_cast<const char*>(mapped);
  Footer footer;
  std::memcpy(&footer, begin + length - sizeof(Footer), sizeof(Footer));
  const std::size_t body = length - sizeof(Footer);
  const bool whole = footer.magic == kMagic && footer.base_at <= body &&
                     footer.base_size <= body - footer.base_at && footer.offsets_at <= body &&
                     footer.count < body && (footer.count + 1) * 8 == body - footer.offsets_at;
  if (!whole) {
    munmap(mapped, length);
    close(fd);
    return bad;
  }
  return std::unique_ptr<Listing>(new Listing(fd, begin, length, footer));
}

Listing::~Listing() {
  munmap(const_cast<char*>(begin_), length_);
  close(fd_);
}

std::uint64_t Listing::Offset(std::uint64_t index) const {
  std::uint64_t offset = 0;
  std::memcpy(&offset, begin_ + footer_.offsets_at + index * 8, 8);
  return offset;
}

Listing::Entry Listing::At(std::uint64_t index) const {
  const std::uint64_t from = Offset(index);
  std::string_view rest(begin_ + from, Offset(index + 1) - from);
  Entry entry;
  const std::uint64_t size = TakeVarint(rest);
  if (size > 0) entry.size = size - 1;
  entry.etag = TakeEtag(rest);
  entry.uri.reserve(footer_.base_size + rest.size());
  entry.uri.append(begin_ + footer_.base_at, footer_.base_size);
  entry.uri.append(rest);
  return entry;
}

std::optional<std::uint64_t> Listing::SizeOf(std::uint64_t index) const {
  const std::uint64_t from = Offset(index);
  std::string_view entry(begin_ + from, Offset(index + 1) - from);
  const std::uint64_t size = TakeVarint(entry);
  return size > 0 ? std::optional(size - 1) : std::nullopt;
}

std::string Listing::Id() const {
  std::string id;
  unsigned char bytes[sizeof(footer_.id)];
  std::memcpy(bytes, footer_.id, sizeof(bytes));
  for (const unsigned char byte : bytes) AppendHex(id, byte);
  return id;
}

ListingBuilder::ListingBuilder(std::string base)
    : base_(std::move(base)), fd_(memfd_create("headrace-listing", MFD_CLOEXEC)) {
  if (fd_ < 0) status_ = FromErrno("making a memory file for the listing");
}

ListingBuilder::~ListingBuilder() {
  if (fd_ >= 0) close(fd_);
}

void ListingBuilder::Add(std::string_view address, std::optional<std::uint64_t> size,
                         std::string_view etag) {
  offsets_.push_back(written_ + pending_.size());
  largest_ = std::max(largest_, size.value_or(0));
  AppendVarint(pending_, size.has_value() ? *size + 1 : 0);
  AppendEtag(pending_, etag);
  pending_.append(address);
  if (pending_.size() >= kFlushAt) Flush();
}

void ListingBuilder::Append(const void* data, std::size_t size) {
  pending_.append(static_cast<const char*>(data), size);
  if (pending_.size() >= kFlushAt) Flush();
}

void ListingBuilder::Flush() {
  std::string_view rest = pending_;
  while (status_.ok() && !rest.empty()) {
    const ssize_t wrote = write(fd_, rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      status_ = FromErrno("writing the listing");
    } else {
      rest.remove_prefix(static_cast<std::size_t>(wrote));
    }
  }
  written_ += pending_.size();
  pending_.clear();
}

Result<std::unique_ptr<Listing>> ListingBuilder::Finish() {
  Listing::Footer footer;
  footer.magic = Listing::kMagic;
  footer.count = offsets_.size();
  footer.largest = largest_;
  offsets_.push_back(written_ + pending_.size());
  footer.base_at = offsets_.back();
  footer.base_size = base_.size();
  Append(base_.data(), base_.size());
  footer.offsets_at = written_ + pending_.size();
  Append(offsets_.data(), offsets_.size() * sizeof(offsets_[0]));
  if (getrandom(footer.id, sizeof(footer.id), 0) != sizeof(footer.id)) {
    status_ = FromErrno("naming the listing");
  }
  Append(&footer, sizeof(footer));
  Flush();
  if (!status_.ok()) return status_;
  return Listing::FromDescriptor(std::exchange(fd_, -1));
}

}  // namespace headrace::python
