// Multipart uploads.
#include <algorithm>
#include <fmt/format.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <pugixml.hpp>

#include "base/macros.h"
#include "devserver/errors.h"
#include "devserver/service.h"
#include "devserver/text.h"

namespace headrace::devserver {
namespace {

constexpr int kMaxParts = 10000;

std::string NewUploadId() {
  std::string bytes(24, '\0');
  RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  return HexEncode(bytes);
}

Result<int> ReadPartNumber(const QueryParams& query) {
  auto number = ParseUint(query.Get("partNumber"));
  if (!number || *number < 1 || *number > kMaxParts) {
    return S3Error("InvalidArgument",
                   "Part number must be an integer between 1 and 10000, inclusive");
  }
  return static_cast<int>(*number);
}

struct AskedPart {
  int number = 0;
  std::string etag;
  std::string checksum;  // base64, "" when not given
};

Result<std::vector<AskedPart>> ReadAskedParts(const std::string& body,
                                              ChecksumAlgorithm algorithm) {
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size())) return S3Error("MalformedXML");
  std::vector<AskedPart> parts;
  for (pugi::xml_node node : document.child("CompleteMultipartUpload").children("Part")) {
    AskedPart part;
    auto number = ParseUint(Trim(node.child("PartNumber").text().get()));
    if (!number || *number < 1 || *number > kMaxParts) return S3Error("MalformedXML");
    part.number = static_cast<int>(*number);
    std::string_view etag = Trim(node.child("ETag").text().get());
    if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
      etag = etag.substr(1, etag.size() - 2);
    }
    part.etag = std::string(etag);
    part.checksum = node.child(std::string(ChecksumXmlElement(algorithm)).c_str()).text().get();
    if (!parts.empty() && part.number <= parts.back().number) return S3Error("InvalidPartOrder");
    parts.push_back(std::move(part));
  }
  if (parts.empty()) {
    return S3Error("MalformedXML", "You must specify at least one part");
  }
  return parts;
}

// The object's checksum from its parts': of the bytes where the algorithm can be combined and the
// upload asked for it, else of the parts' checksums.
std::optional<Checksum> CombineChecksums(const Upload& upload,
                                         const std::vector<const Part*>& parts) {
  std::string combined;
  std::string joined;
  for (const Part* part : parts) {
    if (!part->checksum || part->checksum->algorithm != upload.algorithm) return std::nullopt;
    std::string raw = Base64Decode(part->checksum->value).value_or("");
    if (upload.composite) {
      joined += raw;
    } else {
      combined = combined.empty() ? raw : CombineCrc(upload.algorithm, combined, raw, part->size);
    }
  }
  if (!upload.composite) return Checksum{upload.algorithm, Base64Encode(combined), false};
  auto hasher = NewChecksum(upload.algorithm);
  hasher->Update(joined);
  return Checksum{upload.algorithm,
                  fmt::format("{}-{}", Base64Encode(hasher->Finish()), parts.size()), true};
}

// Copies a stretch of an object through `payload`-like hashing: the part's own ETag is of its
// bytes.
Result<Part> CopyToPart(Store& store, const ObjectMeta& source, const ByteRange& range,
                        ChecksumAlgorithm algorithm) {
  ASSIGN_OR_RETURN(auto slices, store.Slices(source, range.offset, range.length));
  auto md5 = NewMd5();
  auto checksum = NewChecksum(algorithm);
  std::string buffer(1 << 20, '\0');
  for (const FileSlice& slice : slices) {
    for (std::uint64_t done = 0; done < slice.size;) {
      std::size_t want = std::min<std::uint64_t>(buffer.size(), slice.size - done);
      ssize_t n =
          pread(slice.file->fd(), buffer.data(), want, static_cast<off_t>(slice.offset + done));
      if (n <= 0) return S3Error("InternalError", "The source's data file cannot be read.");
      std::string_view piece(buffer.data(), static_cast<std::size_t>(n));
      md5->Update(piece);
      checksum->Update(piece);
      done += static_cast<std::uint64_t>(n);
    }
  }
  Part part;
  part.etag = HexEncode(md5->Finish());
  part.size = range.length;
  part.checksum = Checksum{algorithm, Base64Encode(checksum->Finish()), false};
  part.modified_ms = NowMs();
  // The bytes themselves are shared with the source.
  std::uint64_t offset = range.offset;
  std::uint64_t left = range.length;
  for (const Segment& segment : source.segments) {
    if (left == 0) break;
    if (offset >= segment.size) {
      offset -= segment.size;
      continue;
    }
    std::uint64_t n = std::min(left, segment.size - offset);
    part.segments.push_back({segment.file, segment.offset + offset, n});
    left -= n;
    offset = 0;
  }
  return part;
}

std::string CompleteXml(const Route& route, const ObjectMeta& meta) {
  std::string xml = XmlStart("CompleteMultipartUploadResult");
  AppendElement(xml, "Location", fmt::format("/{}/{}", route.bucket, UriEncode(route.key, true)));
  AppendElement(xml, "Bucket", route.bucket);
  AppendElement(xml, "Key", EchoedKey(route.key));
  AppendElement(xml, "ETag", QuotedEtag(meta.etag));
  if (meta.checksum) {
    AppendElement(xml, ChecksumXmlElement(meta.checksum->algorithm), meta.checksum->value);
    AppendElement(xml, "ChecksumType", meta.checksum->composite ? "COMPOSITE" : "FULL_OBJECT");
  }
  return xml + "</CompleteMultipartUploadResult>";
}

}  // namespace

Status Service::CreateUpload(Exchange& x) {
  Upload upload;
  upload.id = NewUploadId();
  upload.bucket = x.route.bucket;
  upload.key = x.route.key;
  upload.started_ms = NowMs();
  RETURN_IF_ERROR(ReadStoredHeaders(x.head, &upload.meta));
  std::string_view name = x.head.Header("x-amz-checksum-algorithm");
  if (!name.empty()) {
    auto algorithm = ParseChecksumName(name);
    if (!algorithm) {
      return S3Error("InvalidRequest", "Checksum algorithm provided is unsupported.");
    }
    upload.algorithm = *algorithm;
    upload.checksum_asked = true;
    std::string_view type = x.head.Header("x-amz-checksum-type");
    upload.composite = type.empty() ? *algorithm != ChecksumAlgorithm::kCrc64nvme
                                    : EqualsIgnoreCase(type, "composite");
    if (!upload.composite && !IsCrc(*algorithm)) {
      return S3Error("InvalidRequest",
                     "The FULL_OBJECT checksum type cannot be used with this checksum algorithm.");
    }
    x.response.AddHeader("x-amz-checksum-algorithm", ChecksumName(*algorithm));
    x.response.AddHeader("x-amz-checksum-type", upload.composite ? "COMPOSITE" : "FULL_OBJECT");
  }
  std::string xml = XmlStart("InitiateMultipartUploadResult");
  AppendElement(xml, "Bucket", upload.bucket);
  AppendElement(xml, "Key", EchoedKey(upload.key));
  AppendElement(xml, "UploadId", upload.id);
  x.response.SetXml(xml + "</InitiateMultipartUploadResult>");
  return store_.StartUpload(std::move(upload));
}

Status Service::UploadPart(Exchange& x) {
  ASSIGN_OR_RETURN(int number, ReadPartNumber(x.query));
  Part part;
  part.size = x.payload->size();
  part.etag = HexEncode(x.payload->md5());
  part.checksum = x.payload->checksum();
  part.segments = x.payload->TakeSegments();
  part.modified_ms = NowMs();
  x.response.AddHeader("ETag", QuotedEtag(part.etag));
  if (part.checksum) {
    x.response.AddHeader(ChecksumHeader(part.checksum->algorithm), part.checksum->value);
  }
  return store_.PutPart(std::string(x.query.Get("uploadId")), number, std::move(part));
}

Status Service::UploadPartCopy(Exchange& x) {
  ASSIGN_OR_RETURN(int number, ReadPartNumber(x.query));
  std::string id(x.query.Get("uploadId"));
  ASSIGN_OR_RETURN(Upload upload, store_.FindUpload(x.route.bucket, x.route.key, id));
  ASSIGN_OR_RETURN(auto source, CopySource(x));
  ByteRange range{0, source->size};
  if (std::string_view header = x.head.Header("x-amz-copy-source-range"); !header.empty()) {
    std::size_t dash = header.find('-');
    auto last = dash == std::string_view::npos ? std::nullopt : ParseUint(header.substr(dash + 1));
    if (!last || *last >= source->size ||
        ResolveRange(header, source->size, &range) != RangeKind::kPartial) {
      return S3Error(
          "InvalidArgument",
          "The x-amz-copy-source-range value must be of the form bytes=first-last, within "
          "the source object.");
    }
  }
  ASSIGN_OR_RETURN(Part part, CopyToPart(store_, *source, range, upload.algorithm));
  std::string xml = XmlStart("CopyPartResult");
  AppendElement(xml, "LastModified", FormatIsoDate(part.modified_ms));
  AppendElement(xml, "ETag", QuotedEtag(part.etag));
  AppendElement(xml, ChecksumXmlElement(upload.algorithm), part.checksum->value);
  x.response.SetXml(xml + "</CopyPartResult>");
  return store_.PutPart(id, number, std::move(part));
}

Status Service::CompleteUpload(Exchange& x) {
  std::string id(x.query.Get("uploadId"));
  Result<Upload> found = store_.FindUpload(x.route.bucket, x.route.key, id);
  if (!found.ok()) {
    // A Complete whose answer was lost is asked again.
    auto completed = store_.FindCompleted(id);
    if (completed == nullptr) return found.status();
    x.response.SetXml(CompleteXml(x.route, *completed));
    return Status();
  }
  const Upload& upload = *found;
  ASSIGN_OR_RETURN(WriteCondition condition, ReadWriteCondition(x.head));
  ASSIGN_OR_RETURN(auto asked, ReadAskedParts(x.payload->memory(), upload.algorithm));

  ObjectMeta meta = upload.meta;
  std::vector<const Part*> parts;
  std::string digests;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    auto part = upload.parts.find(asked[i].number);
    if (part == upload.parts.end() || part->second.etag != asked[i].etag) {
      return S3Error("InvalidPart");
    }
    if (!asked[i].checksum.empty() &&
        (!part->second.checksum || part->second.checksum->value != asked[i].checksum)) {
      return S3Error("InvalidPart");
    }
    if (i + 1 < asked.size() && part->second.size < options_.min_part_size) {
      return S3Error("EntityTooSmall");
    }
    parts.push_back(&part->second);
    // The ETag of a part is the hex of its MD5.
    for (std::size_t c = 0; c + 1 < part->second.etag.size(); c += 2) {
      digests += static_cast<char>(std::stoi(part->second.etag.substr(c, 2), nullptr, 16));
    }
    meta.size += part->second.size;
    meta.part_sizes.push_back(part->second.size);
    meta.segments.insert(meta.segments.end(), part->second.segments.begin(),
                         part->second.segments.end());
  }
  meta.etag = fmt::format("{}-{}", HexEncode(Md5(digests)), parts.size());
  meta.modified_ms = NowMs();
  meta.checksum = CombineChecksums(upload, parts);
  std::string_view expected = x.head.Header(ChecksumHeader(upload.algorithm));
  if (!expected.empty() && meta.checksum && !meta.checksum->composite &&
      expected != meta.checksum->value) {
    return S3Error("BadDigest");
  }
  if (auto size = ParseUint(x.head.Header("x-amz-mp-object-size")); size && *size != meta.size) {
    return S3Error("InvalidRequest",
                   "The provided 'x-amz-mp-object-size' header does not match what was computed.");
  }
  x.response.SetXml(CompleteXml(x.route, meta));
  return store_.CompleteUpload(id, std::move(meta), condition);
}

Status Service::ListParts(Exchange& x) {
  std::string id(x.query.Get("uploadId"));
  ASSIGN_OR_RETURN(Upload upload, store_.FindUpload(x.route.bucket, x.route.key, id));
  std::size_t max_parts = 1000;
  if (auto asked = ParseUint(x.query.Get("max-parts"))) {
    max_parts = std::min<std::size_t>(max_parts, *asked);
  }
  int after = static_cast<int>(ParseUint(x.query.Get("part-number-marker")).value_or(0));
  std::string items;
  int last = after;
  std::size_t count = 0;
  auto part = upload.parts.upper_bound(after);
  for (; part != upload.parts.end() && count < max_parts; ++part, ++count) {
    last = part->first;
    items += "<Part>";
    AppendElement(items, "PartNumber", std::to_string(part->first));
    AppendElement(items, "LastModified", FormatIsoDate(part->second.modified_ms));
    AppendElement(items, "ETag", QuotedEtag(part->second.etag));
    AppendElement(items, "Size", std::to_string(part->second.size));
    if (part->second.checksum) {
      AppendElement(items, ChecksumXmlElement(part->second.checksum->algorithm),
                    part->second.checksum->value);
    }
    items += "</Part>";
  }
  std::string xml = XmlStart("ListPartsResult");
  AppendElement(xml, "Bucket", upload.bucket);
  AppendElement(xml, "Key", EchoedKey(upload.key));
  AppendElement(xml, "UploadId", upload.id);
  AppendElement(xml, "StorageClass", upload.meta.storage_class);
  AppendElement(xml, "PartNumberMarker", std::to_string(after));
  AppendElement(xml, "NextPartNumberMarker", std::to_string(last));
  AppendElement(xml, "MaxParts", std::to_string(max_parts));
  AppendElement(xml, "IsTruncated", part != upload.parts.end() ? "true" : "false");
  x.response.SetXml(xml + items + "</ListPartsResult>");
  return Status();
}

Status Service::ListUploads(Exchange& x) {
  RETURN_IF_ERROR(store_.FindBucket(x.route.bucket).status());
  std::string prefix(x.query.Get("prefix"));
  const bool encode = x.query.Get("encoding-type") == "url";
  std::vector<Upload> uploads = store_.ListUploads(x.route.bucket, prefix);
  std::sort(uploads.begin(), uploads.end(), [](const Upload& a, const Upload& b) {
    return std::tie(a.key, a.started_ms, a.id) < std::tie(b.key, b.started_ms, b.id);
  });
  std::string key_marker(x.query.Get("key-marker"));
  std::string id_marker(x.query.Get("upload-id-marker"));
  auto first = std::find_if(uploads.begin(), uploads.end(), [&](const Upload& u) {
    return key_marker.empty() || u.key > key_marker;
  });
  if (!id_marker.empty()) {
    auto marked = std::find_if(uploads.begin(), uploads.end(),
                               [&](const Upload& u) { return u.id == id_marker; });
    if (marked != uploads.end()) first = marked + 1;
  }
  std::size_t max_uploads = 1000;
  if (auto asked = ParseUint(x.query.Get("max-uploads"))) {
    max_uploads = std::min<std::size_t>(max_uploads, *asked);
  }
  auto last = first + std::min<std::ptrdiff_t>(uploads.end() - first,
                                               static_cast<std::ptrdiff_t>(max_uploads));
  auto text = [encode](std::string_view key) {
    return encode ? ListEncode(key) : std::string(key);
  };
  std::string xml = XmlStart("ListMultipartUploadsResult");
  AppendElement(xml, "Bucket", x.route.bucket);
  AppendElement(xml, "KeyMarker", text(key_marker));
  AppendElement(xml, "UploadIdMarker", id_marker);
  AppendElement(xml, "Prefix", text(prefix));
  if (last != uploads.end() && last != first) {
    AppendElement(xml, "NextKeyMarker", text((last - 1)->key));
    AppendElement(xml, "NextUploadIdMarker", (last - 1)->id);
  }
  AppendElement(xml, "MaxUploads", std::to_string(max_uploads));
  AppendElement(xml, "IsTruncated", last != uploads.end() ? "true" : "false");
  if (encode) AppendElement(xml, "EncodingType", "url");
  for (auto upload = first; upload != last; ++upload) {
    xml += "<Upload>";
    AppendElement(xml, "Key", text(upload->key));
    AppendElement(xml, "UploadId", upload->id);
    AppendElement(xml, "StorageClass", upload->meta.storage_class);
    AppendElement(xml, "Initiated", FormatIsoDate(upload->started_ms));
    xml += "</Upload>";
  }
  x.response.SetXml(xml + "</ListMultipartUploadsResult>");
  return Status();
}

}  // namespace headrace::devserver
