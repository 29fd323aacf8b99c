// Operations on buckets, and listings.
#include <algorithm>
#include <fmt/format.h>

#include <pugixml.hpp>

#include "base/macros.h"
#include "devserver/errors.h"
#include "devserver/service.h"
#include "devserver/text.h"

namespace headrace::devserver {
namespace {

constexpr std::size_t kPageKeys = 1000;
constexpr std::string_view kOwner =
    "<Owner><ID>headrace</ID><DisplayName>headrace</DisplayName></Owner>";

Result<std::size_t> ReadMaxKeys(const QueryParams& query) {
  if (!query.Has("max-keys")) return kPageKeys;
  auto asked = ParseUint(query.Get("max-keys"));
  if (!asked || *asked > 0x7FFFFFFF) {
    return S3Error("InvalidArgument",
                   "Argument max-keys must be an integer between 0 and 2147483647");
  }
  return std::min<std::size_t>(*asked, kPageKeys);
}

void AppendObject(std::string& xml, const ListedObject& object, bool encode, bool owner) {
  xml += "<Contents><Key>";
  if (encode) {
    xml += ListEncode(object.key);
  } else {
    AppendXmlEscaped(xml, object.key);
  }
  xml += "</Key><LastModified>";
  xml += FormatIsoDate(object.modified_ms);
  xml += "</LastModified><ETag>&quot;";
  xml += object.etag;
  xml += "&quot;</ETag><Size>";
  xml += std::to_string(object.size);
  xml += "</Size>";
  if (!object.checksum_algorithm.empty()) {
    xml += "<ChecksumAlgorithm>";
    xml += object.checksum_algorithm;
    xml += "</ChecksumAlgorithm>";
  }
  if (owner) xml += kOwner;
  xml += "<StorageClass>";
  AppendXmlEscaped(xml, object.storage_class);
  xml += "</StorageClass></Contents>";
}

}  // namespace

Status Service::ListBuckets(Exchange& x) {
  std::string xml = XmlStart("ListAllMyBucketsResult");
  xml += kOwner;
  xml += "<Buckets>";
  for (const BucketInfo& bucket : store_.ListBuckets()) {
    xml += "<Bucket>";
    AppendElement(xml, "Name", bucket.name);
    AppendElement(xml, "CreationDate", FormatIsoDate(bucket.created_ms));
    xml += "</Bucket>";
  }
  x.response.SetXml(xml + "</Buckets></ListAllMyBucketsResult>");
  return Status();
}

Status Service::CreateBucket(Exchange& x) {
  if (!IsValidBucketName(x.route.bucket)) return S3Error("InvalidBucketName");
  const std::string& body = x.payload->memory();
  if (!body.empty()) {
    pugi::xml_document document;
    if (!document.load_buffer(body.data(), body.size())) return S3Error("MalformedXML");
    std::string_view constraint =
        document.child("CreateBucketConfiguration").child("LocationConstraint").text().get();
    if (!constraint.empty() && constraint != options_.region) {
      return S3Error(
          "IllegalLocationConstraintException",
          fmt::format("The {} location constraint is incompatible for the region specific "
                      "endpoint this request was sent to ({}).",
                      constraint, options_.region));
    }
  }
  x.response.AddHeader("Location", "/" + x.route.bucket);
  return store_.CreateBucket(x.route.bucket);
}

Status Service::ListObjects(Exchange& x, bool v2) {
  const QueryParams& query = x.query;
  std::string_view encoding = query.Get("encoding-type");
  if (!encoding.empty() && encoding != "url") {
    return S3Error("InvalidArgument", "Invalid Encoding Method specified in Request");
  }
  const bool encode = !encoding.empty();
  ListQuery list;
  list.prefix = std::string(query.Get("prefix"));
  list.delimiter = std::string(query.Get("delimiter"));
  ASSIGN_OR_RETURN(list.max_keys, ReadMaxKeys(query));
  std::string_view start = query.Get(v2 ? "start-after" : "marker");
  if (v2 && query.Has("continuation-token")) {
    ASSIGN_OR_RETURN(list.position, DecodeToken(query.Get("continuation-token")));
  } else {
    list.position = PositionOfMarker(start, list.prefix, list.delimiter);
  }
  ASSIGN_OR_RETURN(ListPage page, store_.List(x.route.bucket, list));

  std::string xml = XmlStart("ListBucketResult");
  xml.reserve(400 * (page.objects.size() + page.common_prefixes.size()) + 1024);
  auto text = [&](std::string_view name, std::string_view value) {
    AppendElement(xml, name, encode ? ListEncode(value) : std::string(value));
  };
  AppendElement(xml, "Name", x.route.bucket);
  text("Prefix", list.prefix);
  if (v2) {
    if (query.Has("continuation-token")) {
      AppendElement(xml, "ContinuationToken", query.Get("continuation-token"));
    }
    if (page.truncated) AppendElement(xml, "NextContinuationToken", EncodeToken(page.next));
    AppendElement(xml, "KeyCount",
                  std::to_string(page.objects.size() + page.common_prefixes.size()));
    if (!start.empty()) text("StartAfter", start);
  } else {
    text("Marker", start);
    if (page.truncated) text("NextMarker", page.next.after);
  }
  AppendElement(xml, "MaxKeys", std::to_string(list.max_keys));
  if (!list.delimiter.empty()) text("Delimiter", list.delimiter);
  AppendElement(xml, "IsTruncated", page.truncated ? "true" : "false");
  if (encode) AppendElement(xml, "EncodingType", "url");
  const bool owner = !v2 || query.Get("fetch-owner") == "true";
  for (const ListedObject& object : page.objects) AppendObject(xml, object, encode, owner);
  for (const std::string& prefix : page.common_prefixes) {
    xml += "<CommonPrefixes>";
    text("Prefix", prefix);
    xml += "</CommonPrefixes>";
  }
  x.response.SetXml(xml + "</ListBucketResult>");
  x.response.AddHeader("x-amz-bucket-region", options_.region);
  return Status();
}

}  // namespace headrace::devserver
