#include "devserver/payload.h"

#include "base/macros.h"
#include "devserver/errors.h"
#include "devserver/text.h"

namespace headrace::devserver {

Result<std::unique_ptr<Payload>> Payload::Create(const RequestHead& head, const AuthInfo& auth,
                                                 Options options) {
  std::unique_ptr<Payload> payload(new Payload(auth, std::move(options)));
  RETURN_IF_ERROR(payload->ReadHeaders(head));
  return payload;
}

Payload::Payload(const AuthInfo& auth, Options options)
    : options_(std::move(options)),
      mode_(auth.payload),
      expected_sha256_(auth.payload_sha256),
      decoder_(*this),
      md5_hasher_(NewMd5()) {
  if (mode_ == PayloadMode::kSha256) sha256_hasher_ = NewSha256();
  if (mode_ == PayloadMode::kStreamingSigned || mode_ == PayloadMode::kStreamingSignedTrailer) {
    verifier_ = std::make_unique<ChunkVerifier>(auth);
    chunk_sha256_ = NewSha256();
  }
}

Status Payload::ReadHeaders(const RequestHead& head) {
  if (std::string_view md5 = head.Header("content-md5"); head.HasHeader("content-md5")) {
    expected_md5_ = Base64Decode(md5);
    if (!expected_md5_ || expected_md5_->size() != 16) return S3Error("InvalidDigest");
  }
  for (const auto& [name, value] : head.headers()) {
    auto algorithm = ParseChecksumHeader(name);
    if (!algorithm) continue;
    if (declared_) {
      return S3Error("InvalidRequest",
                     "Expecting a single x-amz-checksum- header. Multiple checksum Types are not "
                     "allowed.");
    }
    declared_ = algorithm;
    expected_checksum_ = std::string(value);
  }
  if (std::string_view trailer = head.Header("x-amz-trailer"); !trailer.empty()) {
    auto algorithm = ParseChecksumHeader(ToLower(trailer));
    if (!algorithm || declared_ || !streaming()) {
      return S3Error("InvalidRequest",
                     "x-amz-trailer must name one checksum, in a streaming body.");
    }
    declared_ = algorithm;
    checksum_in_trailer_ = true;
  }
  if (expected_checksum_) {
    auto raw = Base64Decode(*expected_checksum_);
    if (!raw || raw->size() != NewChecksum(*declared_)->Finish().size()) {
      return S3Error("InvalidRequest", "Value for the x-amz-checksum- header is invalid.");
    }
  }
  auto named = ParseChecksumName(head.Header("x-amz-sdk-checksum-algorithm"));
  std::optional<ChecksumAlgorithm> used = declared_ ? declared_
                                          : named   ? named
                                                    : options_.algorithm;
  if (used) {
    checksum_ = Checksum{*used, "", false};
    checksum_hasher_ = NewChecksum(*used);
  }
  if (streaming()) {
    decoded_length_ = ParseUint(head.Header("x-amz-decoded-content-length"));
    if (!decoded_length_) {
      return S3Error("MissingContentLength",
                     "You must provide the x-amz-decoded-content-length HTTP header.");
    }
    if (*decoded_length_ > options_.max_file) return S3Error("EntityTooLarge");
  } else if (head.content_length().value_or(0) > options_.max_file) {
    return S3Error("EntityTooLarge");
  }
  return Status();
}

void Payload::Write(std::string_view bytes) {
  if (!error_.ok()) return;
  if (!streaming()) {
    error_ = Accept(bytes);
    return;
  }
  error_ = decoder_.Feed(&bytes);
  if (error_.ok() && !bytes.empty()) {
    error_ = S3Error("InvalidRequest", "There are bytes behind the last chunk of the body.");
  }
}

Status Payload::Accept(std::string_view data) {
  size_ += data.size();
  md5_hasher_->Update(data);
  if (sha256_hasher_) sha256_hasher_->Update(data);
  if (checksum_hasher_) checksum_hasher_->Update(data);
  if (options_.file) {
    if (size_ > options_.max_file) return S3Error("EntityTooLarge");
    return options_.file->Write(data);
  }
  if (size_ > options_.max_memory) return S3Error("EntityTooLarge");
  memory_ += data;
  return Status();
}

Status Payload::OnChunkData(std::string_view data) {
  if (chunk_sha256_) chunk_sha256_->Update(data);
  return Accept(data);
}

Status Payload::OnChunkEnd(std::string_view extension) {
  if (!verifier_) return Status();
  constexpr std::string_view kName = "chunk-signature=";
  if (!extension.starts_with(kName)) {
    return S3Error("InvalidRequest", "A chunk of the signed body has no chunk-signature.");
  }
  std::string digest = chunk_sha256_->Finish();
  chunk_sha256_ = NewSha256();
  return verifier_->CheckChunk(digest, extension.substr(kName.size()));
}

Status Payload::OnTrailer(std::string_view name, std::string_view value) {
  if (name == "x-amz-trailer-signature") {
    trailer_verified_ = true;
    return verifier_ ? verifier_->CheckTrailer(trailers_, value) : Status();
  }
  trailers_ += std::string(name) + ":" + std::string(value) + "\n";
  if (checksum_in_trailer_ && name == ChecksumHeader(*declared_)) {
    expected_checksum_ = std::string(value);
  }
  return Status();
}

Status Payload::Verify() {
  if (streaming()) {
    if (!decoder_.done() || size_ != *decoded_length_) return S3Error("IncompleteBody");
    if (checksum_in_trailer_ && !expected_checksum_) return S3Error("MalformedTrailerError");
    if (mode_ == PayloadMode::kStreamingSignedTrailer && !trailer_verified_) {
      return S3Error("MalformedTrailerError", "The signed trailer has no signature.");
    }
  }
  if (sha256_hasher_ && HexEncode(sha256_hasher_->Finish()) != expected_sha256_) {
    return S3Error("XAmzContentSHA256Mismatch");
  }
  md5_ = md5_hasher_->Finish();
  if (expected_md5_ && *expected_md5_ != md5_) {
    return S3Error("BadDigest", "The Content-MD5 you specified did not match what we received.");
  }
  if (checksum_hasher_) {
    checksum_->value = Base64Encode(checksum_hasher_->Finish());
    if (expected_checksum_ && *expected_checksum_ != checksum_->value) {
      return S3Error("BadDigest", "The " + std::string(ChecksumName(checksum_->algorithm)) +
                                      " you specified did not match the calculated checksum.");
    }
  }
  return Status();
}

Status Payload::Finish() {
  if (error_.ok()) error_ = Verify();
  return error_;
}

std::vector<Segment> Payload::TakeSegments() {
  auto file = options_.file->Finish();
  options_.file.reset();
  if (size_ == 0) return {};  // the empty file goes with its last reference
  return {Segment{std::move(file), 0, size_}};
}

}  // namespace headrace::devserver
