// A data set's objects, once per host and without a Python object per key.
//
// The listing is one unlinked memory file (memfd), mapped read-only: forked workers inherit the
// mapping, spawned ones receive the descriptor. Bytes per object: its key, 8 for the place, and
// typically 21 for size and ETag.
//
//   entries    per object: varint(size + 1; 0 = unknown), ETag (one byte of length, or 255 and the
//              16 bytes behind 32 hex digits), the rest is the address after `base`
//   base       what all addresses begin with, e.g. "s3://bucket/"
//   offsets    one u64 per object and one more: where its entry begins, where the last ends
//   footer     struct Footer
//
// Numbers are in the host's byte order: the file never leaves the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/client.h"
#include "headrace/status.h"

namespace headrace::python {

class Listing {
 public:
  struct Entry {
    std::string uri;
    std::string etag;
    std::optional<std::uint64_t> size;
  };

  // Maps a listing that a ListingBuilder finished; takes the descriptor over in any case.
  // kInvalidArgument when the file holds none.
  static Result<std::unique_ptr<Listing>> FromDescriptor(int fd);
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;
  ~Listing();

  std::uint64_t size() const { return footer_.count; }
  // REQUIRES: index < size().
  Entry At(std::uint64_t index) const;
  // Of the largest object, in bytes, as far as sizes are known.
  std::uint64_t largest() const { return footer_.largest; }
  // REQUIRES: index < size().
  std::optional<std::uint64_t> SizeOf(std::uint64_t index) const;
  int fd() const { return fd_; }
  // The whole file.
  std::string_view bytes() const { return {begin_, length_}; }
  // 32 hex digits that no other listing has.
  std::string Id() const;

 private:
  friend class ListingBuilder;
  struct Footer {
    std::uint64_t magic = 0;
    std::uint64_t count = 0;
    std::uint64_t largest = 0;
    std::uint64_t base_at = 0;
    std::uint64_t base_size = 0;
    std::uint64_t offsets_at = 0;
    std::uint64_t id[2] = {0, 0};
  };
  static constexpr std::uint64_t kMagic = 0x31676e6974736c68;  // "hlsting1"

  Listing(int fd, const char* begin, std::size_t length, const Footer& footer)
      : fd_(fd), begin_(begin), length_(length), footer_(footer) {}
  std::uint64_t Offset(std::uint64_t index) const;

  const int fd_;
  const char* const begin_;
  const std::size_t length_;
  const Footer footer_;
};

// Collects entries into a memory file. After an error all further calls give the same one.
class ListingBuilder {
 public:
  // `base` begins every address; entries are given without it.
  explicit ListingBuilder(std::string base);
  ListingBuilder(const ListingBuilder&) = delete;
  ListingBuilder& operator=(const ListingBuilder&) = delete;
  ~ListingBuilder();

  void Add(std::string_view address, std::optional<std::uint64_t> size, std::string_view etag);
  Result<std::unique_ptr<Listing>> Finish();

 private:
  void Append(const void* data, std::size_t size);
  void Flush();

  const std::string base_;
  int fd_;
  Status status_;
  std::string pending_;
  std::uint64_t written_ = 0;  // bytes, those pending included
  std::uint64_t largest_ = 0;
  std::vector<std::uint64_t> offsets_;
};

}  // namespace headrace::python
