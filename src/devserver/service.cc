#include "devserver/service.h"

#include <algorithm>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/macros.h"
#include "devserver/errors.h"
#include "devserver/text.h"

namespace headrace::devserver {
namespace {

// Headers that are stored with an object and come back with it.
constexpr std::string_view kStoredHeaders[] = {"content-type",
                                               "cache-control",
                                               "content-disposition",
                                               "content-encoding",
                                               "content-language",
                                               "expires",
                                               "x-amz-website-redirect-location",
                                               "x-amz-server-side-encryption",
                                               "x-amz-server-side-encryption-aws-kms-key-id",
                                               "x-amz-server-side-encryption-bucket-key-enabled"};

constexpr std::size_t kMaxUserMetadata = 2048;

// `aws-chunked` describes the transfer, not the object.
std::string WithoutAwsChunked(std::string_view encoding) {
  std::string out;
  while (!encoding.empty()) {
    std::size_t comma = encoding.find(',');
    std::string_view part = Trim(encoding.substr(0, comma));
    encoding = comma == std::string_view::npos ? std::string_view() : encoding.substr(comma + 1);
    if (part.empty() || EqualsIgnoreCase(part, "aws-chunked")) continue;
    if (!out.empty()) out += ',';
    out += part;
  }
  return out;
}

// Whether `list` (of If-Match, If-None-Match) names the ETag. Quotes are optional.
bool NamesEtag(std::string_view list, std::string_view etag) {
  while (true) {
    std::size_t comma = list.find(',');
    std::string_view item = Trim(list.substr(0, comma));
    if (item.starts_with("W/")) item.remove_prefix(2);
    if (item.size() >= 2 && item.front() == '"' && item.back() == '"') {
      item = item.substr(1, item.size() - 2);
    }
    if (item == "*" || item == etag) return true;
    if (comma == std::string_view::npos) return false;
    list = list.substr(comma + 1);
  }
}

bool WantsBody(Operation op) {
  switch (op) {
    case Operation::kPutObject:
    case Operation::kUploadPart:
    case Operation::kDeleteObjects:
    case Operation::kCompleteMultipartUpload:
    case Operation::kCreateBucket:
    case Operation::kPutObjectTagging:
    case Operation::kAdmin:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Response::AddHeader(std::string_view name, std::string_view value) {
  headers += name;
  headers += ": ";
  headers += value;
  headers += "\r\n";
}

void Response::SetXml(std::string xml) {
  AddHeader("Content-Type", "application/xml");
  body = std::move(xml);
  content_length = body.size();
}

void Response::SetSlices(std::vector<FileSlice> data) {
  slices = std::move(data);
  content_length = 0;
  for (const FileSlice& slice : slices) content_length += slice.size;
}

void Exchange::Reset() {
  query = QueryParams();
  route = Route();
  auth = AuthInfo();
  payload.reset();
  response = Response();
}

Service::Service(Options options, Store& store, Authenticator& authenticator, FaultInjector& faults,
                 Counters& counters)
    : options_(std::move(options)),
      store_(store),
      authenticator_(authenticator),
      faults_(faults),
      counters_(counters) {}

Status Service::Begin(Exchange& x) {
  Status status = x.query.Parse(x.head.query());
  if (status.ok()) status = FindRoute(x.head, x.query, options_.domains, &x.route);
  if (status.ok()) status = Authorise(x);
  if (status.ok()) status = Prepare(x);
  if (!status.ok()) Fail(x, status);
  return status;
}

Status Service::Authorise(Exchange& x) {
  if (x.route.op == Operation::kAdmin) {
    if (!x.from_loopback) return S3Error("AccessDenied", "/_headrace is for this machine alone.");
    return Status();
  }
  ASSIGN_OR_RETURN(x.auth, authenticator_.Check(x.head, x.query, NowMs() / 1000));
  if (!x.auth.anonymous) return Status();
  const bool reads = IsRead(x.route.op) || IsList(x.route.op) ||
                     x.route.op == Operation::kHeadBucket ||
                     x.route.op == Operation::kGetBucketLocation;
  if (reads && options_.anonymous_buckets.contains(x.route.bucket)) return Status();
  return S3Error("AccessDenied");
}

Status Service::Prepare(Exchange& x) {
  if (!WantsBody(x.route.op)) return Status();
  Payload::Options options;
  if (x.route.op == Operation::kPutObject || x.route.op == Operation::kUploadPart) {
    if (!x.head.content_length() && !x.head.chunked()) return S3Error("MissingContentLength");
    RETURN_IF_ERROR(store_.FindBucket(x.route.bucket).status());
    if (x.route.op == Operation::kUploadPart) {
      ASSIGN_OR_RETURN(Upload upload,
                       store_.FindUpload(x.route.bucket, x.route.key, x.query.Get("uploadId")));
      options.algorithm = upload.algorithm;
    } else {
      options.algorithm = ParseChecksumName(x.head.Header("x-amz-checksum-algorithm"))
                              .value_or(ChecksumAlgorithm::kCrc64nvme);
    }
    ASSIGN_OR_RETURN(options.file, store_.NewFile());
  }
  ASSIGN_OR_RETURN(x.payload, Payload::Create(x.head, x.auth, std::move(options)));
  return Status();
}

void Service::Finish(Exchange& x) {
  Status status;
  if (x.payload != nullptr) status = x.payload->Finish();
  if (status.ok()) status = Run(x);
  if (!status.ok()) Fail(x, status);
}

Status Service::Run(Exchange& x) {
  switch (x.route.op) {
    case Operation::kGetObject:
      return GetObject(x, true);
    case Operation::kHeadObject:
      return GetObject(x, false);
    case Operation::kPutObject:
      return PutObject(x);
    case Operation::kCopyObject:
      return CopyObject(x);
    case Operation::kDeleteObject:
      return DeleteObject(x);
    case Operation::kDeleteObjects:
      return DeleteObjects(x);
    case Operation::kGetObjectTagging:
    case Operation::kPutObjectTagging:
    case Operation::kDeleteObjectTagging:
      return Tagging(x);
    case Operation::kListObjects:
      return ListObjects(x, false);
    case Operation::kListObjectsV2:
      return ListObjects(x, true);
    case Operation::kListBuckets:
      return ListBuckets(x);
    case Operation::kCreateBucket:
      return CreateBucket(x);
    case Operation::kDeleteBucket:
      x.response.status = 204;
      return store_.DeleteBucket(x.route.bucket);
    case Operation::kHeadBucket:
      x.response.AddHeader("x-amz-bucket-region", options_.region);
      return store_.FindBucket(x.route.bucket).status();
    case Operation::kGetBucketLocation: {
      RETURN_IF_ERROR(store_.FindBucket(x.route.bucket).status());
      std::string xml = XmlStart("LocationConstraint");
      if (options_.region != "us-east-1") AppendXmlEscaped(xml, options_.region);
      x.response.SetXml(xml + "</LocationConstraint>");
      return Status();
    }
    case Operation::kGetBucketVersioning:
      RETURN_IF_ERROR(store_.FindBucket(x.route.bucket).status());
      x.response.SetXml(XmlStart("VersioningConfiguration") + "</VersioningConfiguration>");
      return Status();
    case Operation::kCreateMultipartUpload:
      return CreateUpload(x);
    case Operation::kUploadPart:
      return UploadPart(x);
    case Operation::kUploadPartCopy:
      return UploadPartCopy(x);
    case Operation::kCompleteMultipartUpload:
      return CompleteUpload(x);
    case Operation::kAbortMultipartUpload: {
      x.response.status = 204;
      std::string id(x.query.Get("uploadId"));
      RETURN_IF_ERROR(store_.FindUpload(x.route.bucket, x.route.key, id).status());
      return store_.AbortUpload(id);
    }
    case Operation::kListParts:
      return ListParts(x);
    case Operation::kListMultipartUploads:
      return ListUploads(x);
    case Operation::kAdmin:
      return Admin(x);
    case Operation::kUnknown:
      break;
  }
  return S3Error("MethodNotAllowed");
}

void Service::Fail(Exchange& x, const Status& error) const {
  Response& response = x.response;
  std::string kept;  // what S3 sends with errors too
  if (x.route.op == Operation::kHeadBucket) {
    kept = fmt::format("x-amz-bucket-region: {}\r\n", options_.region);
  }
  if (error.info().s3_code.empty()) {
    spdlog::error("request {}: {}", x.request_id, error.ToString());
  }
  response = Response();
  response.headers = std::move(kept);
  response.status = HttpStatusOf(error);
  if (response.status == 304) return;
  std::string extra;
  if (error.info().s3_code == "AuthorizationHeaderMalformed" ||
      error.info().s3_code == "AuthorizationQueryParametersError") {
    extra = fmt::format("<Region>{}</Region>", options_.region);
  } else if (error.info().s3_code == "NoSuchKey") {
    AppendElement(extra, "Key", EchoedKey(x.route.key));
  } else if (error.info().s3_code == "NoSuchBucket") {
    AppendElement(extra, "BucketName", x.route.bucket);
  }
  response.SetXml(ErrorXml(error, x.head.path(), x.request_id, extra));
}

Status ReadStoredHeaders(const RequestHead& head, ObjectMeta* meta) {
  std::size_t user_bytes = 0;
  for (const auto& [name, value] : head.headers()) {
    if (name.starts_with("x-amz-meta-")) {
      user_bytes += name.size() - 11 + value.size();
      if (user_bytes > kMaxUserMetadata) return S3Error("MetadataTooLarge");
      meta->headers.emplace_back(name, value);
    } else if (std::find(std::begin(kStoredHeaders), std::end(kStoredHeaders), name) !=
               std::end(kStoredHeaders)) {
      std::string stored =
          name == "content-encoding" ? WithoutAwsChunked(value) : std::string(value);
      if (!stored.empty()) meta->headers.emplace_back(name, std::move(stored));
    }
  }
  if (std::string_view c = head.Header("x-amz-storage-class"); !c.empty()) {
    meta->storage_class = std::string(c);
  }
  meta->tags = std::string(head.Header("x-amz-tagging"));
  return Status();
}

Status CheckReadConditions(const RequestHead& head, const ObjectMeta& meta, bool copy_source) {
  auto get = [&](std::string_view name) {
    return head.Header(copy_source ? fmt::format("x-amz-copy-source-{}", name) : std::string(name));
  };
  const std::int64_t modified = meta.modified_ms / 1000;
  std::string_view if_match = get("if-match");
  if (!if_match.empty()) {
    if (!NamesEtag(if_match, meta.etag)) return S3Error("PreconditionFailed");
  } else if (auto since = ParseHttpDate(get("if-unmodified-since")); since && modified > *since) {
    return S3Error("PreconditionFailed");
  }
  const std::string_view failed = copy_source ? "PreconditionFailed" : "NotModified";
  std::string_view if_none_match = get("if-none-match");
  if (!if_none_match.empty()) {
    if (NamesEtag(if_none_match, meta.etag)) return S3Error(failed);
  } else if (auto since = ParseHttpDate(get("if-modified-since")); since && modified <= *since) {
    return S3Error(failed);
  }
  return Status();
}

Result<WriteCondition> ReadWriteCondition(const RequestHead& head) {
  WriteCondition condition;
  if (std::string_view none = head.Header("if-none-match"); !none.empty()) {
    if (none != "*") {
      return S3Error("NotImplemented", "If-None-Match on a write takes `*` alone.");
    }
    condition.if_absent = true;
  }
  std::string_view match = head.Header("if-match");
  if (match.size() >= 2 && match.front() == '"' && match.back() == '"') {
    match = match.substr(1, match.size() - 2);
  }
  condition.if_match = std::string(match);
  return condition;
}

void AddChecksumHeaders(Response& response, const Checksum& checksum) {
  response.AddHeader(ChecksumHeader(checksum.algorithm), checksum.value);
  response.AddHeader("x-amz-checksum-type", checksum.composite ? "COMPOSITE" : "FULL_OBJECT");
}

void AppendElement(std::string& xml, std::string_view name, std::string_view text) {
  xml += '<';
  xml += name;
  xml += '>';
  AppendXmlEscaped(xml, text);
  xml += "</";
  xml += name;
  xml += '>';
}

// Most XML parsers refuse a whole document for one control character, and no client needs this
// element.
std::string EchoedKey(std::string_view key) {
  std::string out;
  for (char c : key) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') {
      out += "\uFFFD";
    } else {
      out += c;
    }
  }
  return out;
}

std::string XmlStart(std::string_view root) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<{} xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">",
      root);
}

std::string QuotedEtag(std::string_view etag) { return fmt::format("\"{}\"", etag); }

}  // namespace headrace::devserver
