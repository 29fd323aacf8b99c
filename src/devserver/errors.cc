#include "devserver/errors.h"

#include <array>

#include "devserver/text.h"

namespace headrace::devserver {
namespace {

struct Entry {
  std::string_view code;
  int http_status;
  StatusCode status;
  std::string_view message;
};

constexpr auto kBad = StatusCode::kInvalidArgument;
constexpr auto kDenied = StatusCode::kAccessDenied;
constexpr auto kMissing = StatusCode::kNotFound;

constexpr Entry kEntries[] = {
    {"AccessDenied", 403, kDenied, "Access Denied"},
    {"AuthorizationHeaderMalformed", 400, kBad, "The authorization header is malformed."},
    {"AuthorizationQueryParametersError", 400, kBad,
     "The query parameters of the signature are malformed."},
    {"BadDigest", 400, StatusCode::kChecksumMismatch,
     "The Content-MD5 or checksum value that you specified did not match what the server "
     "received."},
    {"BucketAlreadyOwnedByYou", 409, StatusCode::kAlreadyExists,
     "Your previous request to create the named bucket succeeded and you already own it."},
    {"BucketNotEmpty", 409, kBad, "The bucket you tried to delete is not empty."},
    {"EntityTooLarge", 400, kBad, "Your proposed upload exceeds the maximum allowed size."},
    {"EntityTooSmall", 400, kBad, "Your proposed upload is smaller than the minimum allowed size."},
    {"ExpiredToken", 400, StatusCode::kCredentials, "The provided token has expired."},
    {"IllegalLocationConstraintException", 400, kBad,
     "The location constraint is not this server's region."},
    {"IncompleteBody", 400, kBad,
     "You did not provide the number of bytes specified by the Content-Length HTTP header."},
    {"InternalError", 500, StatusCode::kServerError,
     "We encountered an internal error. Please try again."},
    {"InvalidAccessKeyId", 403, kDenied,
     "The AWS access key ID you provided does not exist in our records."},
    {"InvalidArgument", 400, kBad, "Invalid argument."},
    {"InvalidBucketName", 400, kBad, "The specified bucket is not valid."},
    {"InvalidChunkSizeError", 403, kBad,
     "Only the last chunk is allowed to have a size less than 8192 bytes."},
    {"InvalidDigest", 400, kBad, "The Content-MD5 or checksum you specified is not valid."},
    {"InvalidObjectState", 403, StatusCode::kArchived,
     "The operation is not valid for the object's storage class"},
    {"InvalidPart", 400, kBad,
     "One or more of the specified parts could not be found. The part may not have been uploaded, "
     "or the specified entity tag may not match the part's entity tag."},
    {"InvalidPartNumber", 416, kBad, "The requested partnumber is not satisfiable."},
    {"InvalidPartOrder", 400, kBad,
     "The list of parts was not in ascending order. Parts must be ordered by part number."},
    {"InvalidRange", 416, kBad, "The requested range is not satisfiable"},
    {"InvalidRequest", 400, kBad, "Invalid request."},
    {"InvalidURI", 400, kBad, "Couldn't parse the specified URI."},
    {"KeyTooLongError", 400, kBad, "Your key is too long"},
    {"MalformedTrailerError", 400, kBad,
     "The request contained trailing data that was not well-formed or did not conform to our "
     "published schema."},
    {"MalformedXML", 400, kBad,
     "The XML you provided was not well-formed or did not validate against our published schema"},
    {"MetadataTooLarge", 400, kBad,
     "Your metadata headers exceed the maximum allowed metadata size."},
    {"MethodNotAllowed", 405, StatusCode::kUnsupported,
     "The specified method is not allowed against this resource."},
    {"MissingContentLength", 411, kBad, "You must provide the Content-Length HTTP header."},
    {"MissingSecurityHeader", 400, kBad, "Your request was missing a required header."},
    {"NoSuchBucket", 404, kMissing, "The specified bucket does not exist"},
    {"NoSuchKey", 404, kMissing, "The specified key does not exist."},
    {"NoSuchUpload", 404, kMissing,
     "The specified upload does not exist. The upload ID may be invalid, or the upload may have "
     "been aborted or completed."},
    {"NotImplemented", 501, StatusCode::kUnsupported,
     "A header or query you provided implies functionality that is not implemented."},
    {"NotModified", 304, StatusCode::kOk, "Not Modified"},
    {"PreconditionFailed", 412, StatusCode::kObjectChanged,
     "At least one of the pre-conditions you specified did not hold"},
    {"RequestHeaderSectionTooLarge", 400, kBad,
     "Your request header section exceeds the maximum allowed size."},
    {"RequestTimeTooSkewed", 403, kDenied,
     "The difference between the request time and the current time is too large."},
    {"RequestTimeout", 400, StatusCode::kTimeout,
     "Your socket connection to the server was not read from or written to within the timeout "
     "period."},
    {"SignatureDoesNotMatch", 403, kDenied,
     "The request signature we calculated does not match the signature you provided. Check your "
     "key and signing method."},
    {"SlowDown", 503, StatusCode::kThrottled, "Please reduce your request rate."},
    {"XAmzContentSHA256Mismatch", 400, StatusCode::kChecksumMismatch,
     "The provided 'x-amz-content-sha256' header does not match what was computed."},
    {"OperationAborted", 409, kBad,
     "A conflicting conditional operation is currently in progress against this resource. Try "
     "again."},
};

const Entry* Find(std::string_view code) {
  for (const Entry& entry : kEntries) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

}  // namespace

Status S3Error(std::string_view code, std::string_view message) {
  const Entry* entry = Find(code);
  ErrorInfo info;
  info.s3_code = std::string(code);
  info.http_status = entry != nullptr ? entry->http_status : 400;
  if (message.empty() && entry != nullptr) message = entry->message;
  StatusCode status = entry != nullptr && entry->status != StatusCode::kOk ? entry->status : kBad;
  return Status(status, std::string(message), std::move(info));
}

int HttpStatusOf(const Status& error) {
  return error.info().http_status != 0 ? error.info().http_status : 500;
}

std::string ErrorXml(const Status& error, std::string_view resource, std::string_view request_id,
                     std::string_view extra) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>";
  xml += error.info().s3_code.empty() ? "InternalError" : error.info().s3_code;
  xml += "</Code><Message>";
  AppendXmlEscaped(xml, error.message());
  xml += "</Message>";
  xml += extra;
  xml += "<Resource>";
  AppendXmlEscaped(xml, resource);
  xml += "</Resource><RequestId>";
  xml += request_id;
  xml += "</RequestId><HostId>headrace</HostId></Error>";
  return xml;
}

std::string_view ReasonPhrase(int http_status) {
  switch (http_status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 416:
      return "Requested Range Not Satisfiable";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

}  // namespace headrace::devserver
