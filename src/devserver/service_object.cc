// Operations on one object: get, head, put, copy, delete, tags; and batch delete.
#include <algorithm>
#include <fmt/format.h>

#include <pugixml.hpp>

#include "base/macros.h"
#include "devserver/errors.h"
#include "devserver/service.h"
#include "devserver/text.h"

namespace headrace::devserver {
namespace {

constexpr std::size_t kMaxBatch = 1000;

// Keys may be white space alone, which pugixml drops unless told.
constexpr unsigned int kXmlFlags = pugi::parse_default | pugi::parse_ws_pcdata_single;

constexpr std::string_view kOverrides[][2] = {
    {"response-content-type", "Content-Type"},
    {"response-content-disposition", "Content-Disposition"},
    {"response-content-encoding", "Content-Encoding"},
    {"response-content-language", "Content-Language"},
    {"response-cache-control", "Cache-Control"},
    {"response-expires", "Expires"}};

void AddObjectHeaders(const QueryParams& query, const ObjectMeta& meta, Response* response) {
  response->headers.reserve(512);
  response->AddHeader("Last-Modified", FormatHttpDate(meta.modified_ms / 1000));
  response->AddHeader("ETag", QuotedEtag(meta.etag));
  response->AddHeader("Accept-Ranges", "bytes");
  auto overridden = [&](std::string_view stored) {
    if (query.all().empty()) return false;
    for (const auto& [parameter, header] : kOverrides) {
      if (EqualsIgnoreCase(header, stored) && query.Has(parameter)) return true;
    }
    return false;
  };
  bool typed = overridden("content-type");
  for (const auto& [name, value] : meta.headers) {
    if (overridden(name)) continue;
    response->AddHeader(name, value);
    typed = typed || name == "content-type";
  }
  if (!typed) response->AddHeader("content-type", "binary/octet-stream");
  if (!query.all().empty()) {
    for (const auto& [parameter, header] : kOverrides) {
      if (query.Has(parameter)) response->AddHeader(header, query.Get(parameter));
    }
  }
  if (meta.storage_class != "STANDARD") {
    response->AddHeader("x-amz-storage-class", meta.storage_class);
  }
  if (!meta.tags.empty()) {
    auto count = 1 + std::count(meta.tags.begin(), meta.tags.end(), '&');
    response->AddHeader("x-amz-tagging-count", std::to_string(count));
  }
}

// The range that a partNumber stands for.
Status ResolvePart(const QueryParams& query, const ObjectMeta& meta, ByteRange* range) {
  auto number = ParseUint(query.Get("partNumber"));
  if (!number || *number == 0 || *number > 10000) {
    return S3Error("InvalidArgument", "partNumber must be a number from 1 to 10000.");
  }
  if (meta.part_sizes.empty()) {
    if (*number != 1) return S3Error("InvalidPartNumber");
    *range = {0, meta.size};
    return Status();
  }
  if (*number > meta.part_sizes.size()) return S3Error("InvalidPartNumber");
  range->offset = 0;
  for (std::size_t i = 0; i + 1 < *number; ++i) range->offset += meta.part_sizes[i];
  range->length = meta.part_sizes[*number - 1];
  return Status();
}

bool IsEncryption(std::string_view header) {
  return header.starts_with("x-amz-server-side-encryption");
}

bool IsArchived(const ObjectMeta& meta) {
  return meta.storage_class == "GLACIER" || meta.storage_class == "DEEP_ARCHIVE";
}

std::string TagsToXml(std::string_view tags) {
  std::string xml = XmlStart("Tagging") + "<TagSet>";
  QueryParams parsed;
  if (parsed.Parse(tags).ok()) {
    for (const auto& [name, value] : parsed.all()) {
      xml += "<Tag>";
      AppendElement(xml, "Key", name);
      AppendElement(xml, "Value", value);
      xml += "</Tag>";
    }
  }
  return xml + "</TagSet></Tagging>";
}

Result<std::string> TagsFromXml(const std::string& xml) {
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size(), kXmlFlags)) return S3Error("MalformedXML");
  pugi::xml_node set = document.child("Tagging").child("TagSet");
  if (!set) return S3Error("MalformedXML");
  std::string tags;
  for (pugi::xml_node tag : set.children("Tag")) {
    if (!tags.empty()) tags += '&';
    tags += UriEncode(tag.child("Key").text().get(), false) + "=" +
            UriEncode(tag.child("Value").text().get(), false);
  }
  return tags;
}

struct ObjectName {
  std::string bucket;
  std::string key;
};

Result<ObjectName> CopySourceName(const RequestHead& head) {
  std::string_view header = head.Header("x-amz-copy-source");
  header = header.substr(0, header.find("?versionId="));
  auto source = UriDecode(header, true);  // as in S3, a plus sign here is a space
  if (!source) return S3Error("InvalidArgument", "x-amz-copy-source is badly encoded.");
  if (source->starts_with('/')) source->erase(0, 1);
  std::size_t slash = source->find('/');
  if (slash == std::string::npos || slash + 1 == source->size()) {
    return S3Error("InvalidArgument", "x-amz-copy-source must be bucket/key.");
  }
  return ObjectName{source->substr(0, slash), source->substr(slash + 1)};
}

// Whether it is a copy of an object onto itself that would leave it as it is; new tags are no
// change.
bool CopiesOntoItself(const Exchange& x) {
  const Result<ObjectName> source = CopySourceName(x.head);
  if (!source.ok() || source->bucket != x.route.bucket || source->key != x.route.key) return false;
  if (EqualsIgnoreCase(x.head.Header("x-amz-metadata-directive"), "replace")) return false;
  return std::ranges::none_of(x.head.headers(), [](const auto& header) {
    return header.first == "x-amz-storage-class" ||
           header.first == "x-amz-website-redirect-location" || IsEncryption(header.first);
  });
}

}  // namespace

Status Service::GetObject(Exchange& x, bool with_body) {
  ASSIGN_OR_RETURN(auto meta, store_.Find(x.route.bucket, x.route.key));
  RETURN_IF_ERROR(CheckReadConditions(x.head, *meta, false));
  if (with_body && IsArchived(*meta)) return S3Error("InvalidObjectState");
  Response& response = x.response;
  ByteRange range{0, meta->size};
  bool partial = false;
  if (x.query.Has("partNumber")) {
    RETURN_IF_ERROR(ResolvePart(x.query, *meta, &range));
    partial = range.length != meta->size;
    if (!meta->part_sizes.empty()) {
      response.AddHeader("x-amz-mp-parts-count", std::to_string(meta->part_sizes.size()));
    }
  } else if (std::string_view header = x.head.Header("range"); !header.empty()) {
    RangeKind kind = ResolveRange(header, meta->size, &range);
    if (kind == RangeKind::kUnsatisfiable) {
      Fail(x, S3Error("InvalidRange"));
      response.AddHeader("Content-Range", fmt::format("bytes */{}", meta->size));
      return Status();
    }
    partial = kind == RangeKind::kPartial;
  }
  AddObjectHeaders(x.query, *meta, &response);
  if (partial) {
    response.status = 206;
    response.AddHeader("Content-Range", fmt::format("bytes {}-{}/{}", range.offset,
                                                    range.offset + range.length - 1, meta->size));
  } else if (meta->checksum && EqualsIgnoreCase(x.head.Header("x-amz-checksum-mode"), "enabled")) {
    AddChecksumHeaders(response, *meta->checksum);
  }
  if (with_body) {
    ASSIGN_OR_RETURN(auto slices, store_.Slices(*meta, range.offset, range.length));
    response.SetSlices(std::move(slices));
  }
  response.content_length = range.length;
  return Status();
}

Status Service::PutObject(Exchange& x) {
  ASSIGN_OR_RETURN(WriteCondition condition, ReadWriteCondition(x.head));
  ObjectMeta meta;
  RETURN_IF_ERROR(ReadStoredHeaders(x.head, &meta));
  meta.size = x.payload->size();
  meta.etag = HexEncode(x.payload->md5());
  meta.checksum = x.payload->checksum();
  meta.segments = x.payload->TakeSegments();
  meta.modified_ms = NowMs();
  x.response.AddHeader("ETag", QuotedEtag(meta.etag));
  if (meta.checksum) AddChecksumHeaders(x.response, *meta.checksum);
  for (const auto& [name, value] : meta.headers) {
    if (IsEncryption(name)) x.response.AddHeader(name, value);
  }
  return store_.Put(x.route.bucket, x.route.key, std::move(meta), condition);
}

Result<std::shared_ptr<const ObjectMeta>> Service::CopySource(const Exchange& x) const {
  ASSIGN_OR_RETURN(const ObjectName name, CopySourceName(x.head));
  ASSIGN_OR_RETURN(auto meta, store_.Find(name.bucket, name.key));
  RETURN_IF_ERROR(CheckReadConditions(x.head, *meta, true));
  if (IsArchived(*meta)) return S3Error("InvalidObjectState");
  if (meta->generated_at) {
    return S3Error("NotImplemented", "Objects of a virtual listing cannot be copied.");
  }
  return meta;
}

Status Service::CopyObject(Exchange& x) {
  ASSIGN_OR_RETURN(auto source, CopySource(x));
  if (CopiesOntoItself(x)) {
    return S3Error("InvalidRequest",
                   "This copy request is illegal because it is trying to copy an object to itself "
                   "without changing the object's metadata, storage class, website redirect "
                   "location or encryption attributes.");
  }
  if (source->size > (5ULL << 30)) {
    return S3Error("InvalidRequest",
                   "The specified copy source is larger than the maximum allowable size for a copy "
                   "source: 5368709120");
  }
  ASSIGN_OR_RETURN(WriteCondition condition, ReadWriteCondition(x.head));
  ObjectMeta meta;
  RETURN_IF_ERROR(ReadStoredHeaders(x.head, &meta));
  if (!EqualsIgnoreCase(x.head.Header("x-amz-metadata-directive"), "replace")) {
    // The source's, but for encryption, which is asked for anew.
    std::erase_if(meta.headers, [](const auto& header) { return !IsEncryption(header.first); });
    for (const auto& header : source->headers) {
      if (!IsEncryption(header.first)) meta.headers.push_back(header);
    }
  }
  if (!EqualsIgnoreCase(x.head.Header("x-amz-tagging-directive"), "replace")) {
    meta.tags = source->tags;
  }
  // The copy shares the source's data files, and with them its ETag and checksum: real S3 gives a
  // copy of a multipart object a new ETag.
  meta.etag = source->etag;
  meta.size = source->size;
  meta.checksum = source->checksum;
  meta.segments = source->segments;
  meta.part_sizes = source->part_sizes;
  meta.modified_ms = NowMs();
  std::string xml = XmlStart("CopyObjectResult");
  AppendElement(xml, "LastModified", FormatIsoDate(meta.modified_ms));
  AppendElement(xml, "ETag", QuotedEtag(meta.etag));
  if (meta.checksum) {
    AppendElement(xml, ChecksumXmlElement(meta.checksum->algorithm), meta.checksum->value);
  }
  x.response.SetXml(xml + "</CopyObjectResult>");
  return store_.Put(x.route.bucket, x.route.key, std::move(meta), condition);
}

Status Service::DeleteObject(Exchange& x) {
  x.response.status = 204;
  return store_.Delete(x.route.bucket, x.route.key);
}

Status Service::DeleteObjects(Exchange& x) {
  RETURN_IF_ERROR(store_.FindBucket(x.route.bucket).status());
  if (!x.payload->has_digest()) {
    return S3Error("InvalidRequest",
                   "Missing required header for this request: Content-MD5 or a checksum.");
  }
  pugi::xml_document document;
  const std::string& body = x.payload->memory();
  if (!document.load_buffer(body.data(), body.size(), kXmlFlags)) return S3Error("MalformedXML");
  pugi::xml_node root = document.child("Delete");
  std::vector<std::string> keys;
  for (pugi::xml_node object : root.children("Object")) {
    keys.emplace_back(object.child("Key").text().get());
    if (keys.back().empty() || keys.size() > kMaxBatch) return S3Error("MalformedXML");
  }
  if (keys.empty()) return S3Error("MalformedXML");
  const bool quiet = std::string_view(root.child("Quiet").text().get()) == "true";
  std::string xml = XmlStart("DeleteResult");
  for (const std::string& key : keys) {
    Status status = store_.Delete(x.route.bucket, key);
    if (!status.ok()) {
      xml += "<Error>";
      AppendElement(xml, "Key", key);
      AppendElement(xml, "Code",
                    status.info().s3_code.empty() ? "InternalError" : status.info().s3_code);
      AppendElement(xml, "Message", status.message());
      xml += "</Error>";
    } else if (!quiet) {
      xml += "<Deleted>";
      AppendElement(xml, "Key", key);
      xml += "</Deleted>";
    }
  }
  x.response.SetXml(xml + "</DeleteResult>");
  return Status();
}

Status Service::Tagging(Exchange& x) {
  if (x.route.op == Operation::kGetObjectTagging) {
    ASSIGN_OR_RETURN(auto meta, store_.Find(x.route.bucket, x.route.key));
    x.response.SetXml(TagsToXml(meta->tags));
    return Status();
  }
  std::string tags;
  if (x.route.op == Operation::kPutObjectTagging) {
    ASSIGN_OR_RETURN(tags, TagsFromXml(x.payload->memory()));
  } else {
    x.response.status = 204;
  }
  return store_.SetTags(x.route.bucket, x.route.key, std::move(tags));
}

}  // namespace headrace::devserver
