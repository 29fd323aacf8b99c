// A request's body on its way in: unwrapped from aws-chunked, hashed, verified, and put into a data
// file or into memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "devserver/chunk_decoder.h"
#include "devserver/data_file.h"
#include "devserver/digest.h"
#include "devserver/http_request.h"
#include "devserver/object_meta.h"
#include "devserver/sigv4.h"
#include "headrace/status.h"

namespace headrace::devserver {

// Not thread-safe. After an error, further bytes are swallowed and Finish gives the error.
class Payload final : private ChunkSink {
 public:
  struct Options {
    std::unique_ptr<DataFileWriter> file;        // null: kept in memory
    std::size_t max_memory = 2 << 20;            // bytes; more is EntityTooLarge
    std::uint64_t max_file = 5ULL << 30;         // likewise
    std::optional<ChecksumAlgorithm> algorithm;  // computed when the client sends none
  };
  // Reads what the headers promise. Errors: InvalidDigest, InvalidRequest, MissingContentLength.
  static Result<std::unique_ptr<Payload>> Create(const RequestHead& head, const AuthInfo& auth,
                                                 Options options);

  void Write(std::string_view bytes);  // as they come, transfer coding already undone
  Status Finish();                     // verifies all; call once

  // After Finish:
  std::uint64_t size() const { return size_; }
  const std::string& md5() const { return md5_; }  // raw
  const std::optional<Checksum>& checksum() const { return checksum_; }
  std::vector<Segment> TakeSegments();  // of the file
  const std::string& memory() const { return memory_; }

  // Whether a digest of the body came with the request (batch delete demands one).
  bool has_digest() const { return expected_md5_.has_value() || declared_.has_value(); }
  bool failed() const { return !error_.ok(); }

 private:
  Payload(const AuthInfo& auth, Options options);
  Status ReadHeaders(const RequestHead& head);
  Status Accept(std::string_view data);  // bytes of the object itself
  Status Verify();
  Status OnChunkData(std::string_view data) override;
  Status OnChunkEnd(std::string_view extension) override;
  Status OnTrailer(std::string_view name, std::string_view value) override;
  bool streaming() const { return mode_ >= PayloadMode::kStreamingUnsigned; }

  Options options_;
  PayloadMode mode_;
  std::string expected_sha256_;
  std::optional<std::string> expected_md5_;       // raw
  std::optional<ChecksumAlgorithm> declared_;     // named by a header or x-amz-trailer
  std::optional<std::string> expected_checksum_;  // base64; from a header or the trailer
  bool checksum_in_trailer_ = false;
  std::optional<std::uint64_t> decoded_length_;

  ChunkDecoder decoder_;
  std::unique_ptr<ChunkVerifier> verifier_;
  std::unique_ptr<Hasher> chunk_sha256_;
  std::string trailers_;  // canonical, for their signature
  bool trailer_verified_ = false;

  std::unique_ptr<Hasher> md5_hasher_;
  std::unique_ptr<Hasher> sha256_hasher_;
  std::unique_ptr<Hasher> checksum_hasher_;
  std::string memory_;
  std::uint64_t size_ = 0;
  std::string md5_;
  std::optional<Checksum> checksum_;
  Status error_;
};

}  // namespace headrace::devserver
