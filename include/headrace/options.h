// What a client can be told. Every field has a default that suits AWS and any S3-compatible
// service.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace headrace {

struct ClientOptions {
  // --- where ---
  // "" = AWS_REGION, AWS_DEFAULT_REGION, the profile, the instance; then us-east-1, corrected by
  // the service's own answer.
  std::string region;
  // E.g. "http://127.0.0.1:9000"; "" = AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile, then
  // AWS.
  std::string endpoint_url;
  // Bucket in the path instead of the host name. Automatic for custom endpoints.
  bool force_path_style = false;

  // --- who ---
  std::string profile;        // "" = AWS_PROFILE, then "default"
  std::string access_key_id;  // static credentials, when set together with the secret
  std::string secret_access_key;
  std::string session_token;
  bool anonymous = false;             // send unsigned requests
  bool requester_pays = false;        // accept the charges of a requester-pays bucket
  std::string expected_bucket_owner;  // account id; the service refuses a bucket of anybody else

  // --- how much ---
  // Requests in flight; 0 = found by probing, from 32 upwards.
  int max_in_flight = 0;
  // Bytes per ranged GET and per part of a multipart upload. At least 5 MiB for uploads.
  std::size_t part_size = std::size_t{8} << 20;
  // Uploads above this many bytes are multipart.
  std::size_t multipart_threshold = std::size_t{16} << 20;
  // Copies within the service above this many bytes go in parts; at most 5 GiB.
  std::uint64_t copy_threshold = std::uint64_t{5} << 30;
  // Bytes the engine may hold; 0 = an eighth of the machine's or cgroup's memory, at most 2 GiB per
  // host, divided by processes_on_host, at least 64 MiB.
  std::size_t memory_limit = 0;
  // How many processes of this host share its memory, threads and connections, each taking its part
  // of the defaults; 0 = LOCAL_WORLD_SIZE.
  int processes_on_host = 0;
  // Event-loop threads; 0 = one per 10 Gbit/s of throughput_target_gbps, at most four. Where that
  // is 0: two, but one where there are fewer than four cores, because they are the program's.
  int loop_threads = 0;
  double throughput_target_gbps = 0;

  // --- how patiently ---
  std::chrono::milliseconds connect_timeout{3'000};
  std::chrono::milliseconds idle_timeout{20'000};      // without a byte: ends the attempt
  std::chrono::milliseconds progress_timeout{60'000};  // without progress: ends the operation
  // Attempts per request, the first included; 0 = AWS_MAX_ATTEMPTS, else 10.
  int max_attempts = 0;
  // Send a second GET when the first is unusually late with its first byte.
  bool hedge = true;

  // --- what on the wire ---
  // Sign a hash of each uploaded body instead of UNSIGNED-PAYLOAD plus a checksum.
  bool sign_payload = false;
  std::string ca_bundle;  // PEM; "" = AWS_CA_BUNDLE, then the system's
  bool verify_tls = true;
  std::string user_agent_extra;  // appended to "headrace/VERSION"
};

struct ByteRange {
  std::uint64_t offset = 0;
  // Bytes; ends with the object when that is shorter.
  std::uint64_t length = UINT64_MAX;
};

struct GetOptions {
  std::optional<ByteRange> range;
  // Only this version's bytes (an ETag, quotes optional); kObjectChanged otherwise.
  std::string if_match;
  // The object's size when it is known, e.g. from a listing: saves a request for large objects.
  std::optional<std::uint64_t> size;
  // Check the whole object against the checksum stored with it, with one more HEAD above part_size.
  // Objects up to part_size are checked in any case, where there is one. kUnsupported where none is
  // stored, and in a batch (GetMany); not together with a range.
  bool verify = false;
};

struct PutOptions {
  std::string content_type;   // "" = application/octet-stream, or the service's default
  std::string storage_class;  // e.g. "STANDARD_IA"
  std::map<std::string, std::string> metadata;  // user metadata, x-amz-meta-*
  std::map<std::string, std::string> tags;
  std::string server_side_encryption;  // "AES256" or "aws:kms"
  std::string kms_key_id;
  // "crc32c" (default), "crc64nvme" or "crc32": sent with the data and checked by the service.
  std::string checksum_algorithm;
  // Create only: kAlreadyExists when the object is there.
  bool if_none_match = false;
  // Bytes, for a stream whose length is known beforehand: decides the part size.
  std::optional<std::uint64_t> expected_size;
};

struct ListOptions {
  // Keys up to the next '/' after the prefix only; deeper ones as common prefixes.
  bool delimited = false;
  std::string start_after;
  // Split the key space and list its parts at once. Keys come in bytewise order where the service
  // has it; where it turns out not to, what is left is listed serially, in the service's order.
  bool parallel = true;
};

struct ReaderOptions {
  std::optional<std::uint64_t> size;
  std::string if_match;
  // Read ahead of a reader that reads on; false reads just what is asked for.
  bool sequential = true;
};

}  // namespace headrace
