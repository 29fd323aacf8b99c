// The S3 operations, without sockets: a request's head and body in, a response out.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "devserver/counters.h"
#include "devserver/faults.h"
#include "devserver/http_request.h"
#include "devserver/operation.h"
#include "devserver/payload.h"
#include "devserver/sigv4.h"
#include "devserver/store.h"
#include "headrace/status.h"

namespace headrace::devserver {

struct Response {
  int status = 200;
  std::string headers;  // "name: value\r\n" each; framing and date are added when it is sent
  std::string body;
  std::vector<FileSlice> slices;     // sent instead of `body` when not empty
  std::uint64_t content_length = 0;  // of the body, also where none is sent (HEAD)

  void AddHeader(std::string_view name, std::string_view value);
  void SetXml(std::string xml);
  void SetSlices(std::vector<FileSlice> data);
};

// One request and its response. Belongs to one connection; reused for its next request.
struct Exchange {
  RequestHead head;
  QueryParams query;
  Route route;
  AuthInfo auth;
  std::unique_ptr<Payload> payload;  // null: a body is read and dropped
  std::string request_id;
  bool from_loopback = false;
  Response response;

  void Reset();
};

class Service {
 public:
  struct Options {
    std::string region = "us-east-1";
    std::vector<std::string> domains = {"localhost"};
    std::set<std::string, std::less<>> anonymous_buckets;  // readable without a signature
    std::uint64_t min_part_size = 5 << 20;                 // bytes, of all parts but the last
  };
  Service(Options options, Store& store, Authenticator& authenticator, FaultInjector& faults,
          Counters& counters);

  // Routes and authorises; makes the payload if the operation wants the body. After an error the
  // response is already the error's.
  Status Begin(Exchange& x);
  // Runs the operation, once the body is in, and fills the response, be it an error's.
  void Finish(Exchange& x);
  // Makes the response that of `error`.
  void Fail(Exchange& x, const Status& error) const;

 private:
  Status Authorise(Exchange& x);
  Status Prepare(Exchange& x);
  Status Run(Exchange& x);

  // service_object.cc
  Status GetObject(Exchange& x, bool with_body);
  Status PutObject(Exchange& x);
  Status CopyObject(Exchange& x);
  Status DeleteObject(Exchange& x);
  Status DeleteObjects(Exchange& x);
  Status Tagging(Exchange& x);
  // service_bucket.cc
  Status ListBuckets(Exchange& x);
  Status CreateBucket(Exchange& x);
  Status ListObjects(Exchange& x, bool v2);
  // service_multipart.cc
  Status CreateUpload(Exchange& x);
  Status UploadPart(Exchange& x);
  Status UploadPartCopy(Exchange& x);
  Status CompleteUpload(Exchange& x);
  Status ListParts(Exchange& x);
  Status ListUploads(Exchange& x);
  // service_admin.cc
  Status Admin(Exchange& x);

  // The source of a copy, its conditions checked. The caller's right to read is the signature.
  Result<std::shared_ptr<const ObjectMeta>> CopySource(const Exchange& x) const;

  const Options options_;
  Store& store_;
  Authenticator& authenticator_;
  FaultInjector& faults_;
  Counters& counters_;
};

// Shared by the files that implement Service.

// Content type, x-amz-meta-* and the other headers that are given back with the object.
// Errors: MetadataTooLarge.
Status ReadStoredHeaders(const RequestHead& head, ObjectMeta* meta);
// If-Match and the like of a read, or with `copy_source` their x-amz-copy-source-if-* forms.
// Errors: PreconditionFailed, NotModified.
Status CheckReadConditions(const RequestHead& head, const ObjectMeta& meta, bool copy_source);
Result<WriteCondition> ReadWriteCondition(const RequestHead& head);
void AddChecksumHeaders(Response& response, const Checksum& checksum);
void AppendElement(std::string& xml, std::string_view name, std::string_view text);
// A key as an answer repeats it, characters that XML cannot carry replaced. Not for listings.
std::string EchoedKey(std::string_view key);
std::string XmlStart(std::string_view root);  // declaration and <root xmlns=…>
std::string QuotedEtag(std::string_view etag);

}  // namespace headrace::devserver
