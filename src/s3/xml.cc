#include "s3/xml.h"

#include <cstring>

#include "base/macros.h"
#include "s3/etag.h"
#include "s3/xml_reader.h"

namespace headrace::s3 {
namespace {

constexpr std::string_view kDeclaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
constexpr std::string_view kNamespace = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

void AppendEscaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
}

void AppendElement(std::string& out, std::string_view name, std::string_view text) {
  out += '<';
  out += name;
  out += '>';
  AppendEscaped(out, text);
  out += "</";
  out += name;
  out += '>';
}

// The length of the UTF-8 sequence at the front of `text`, 0 when there is none that XML may hold.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  std::uint32_t code = 0;
  std::uint32_t smallest = 0;
  if ((lead & 0xE0) == 0xC0) {
    length = 2, code = lead & 0x1F, smallest = 0x80;
  } else if ((lead & 0xF0) == 0xE0) {
    length = 3, code = lead & 0x0F, smallest = 0x800;
  } else if ((lead & 0xF8) == 0xF0) {
    length = 4, code = lead & 0x07, smallest = 0x10000;
  }
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool c1_control = code < 0xA0;
  if (code < smallest || code > 0x10FFFF || surrogate || c1_control || (code & 0xFFFE) == 0xFFFE) {
    return 0;
  }
  return length;
}

std::string ReadEtag(pugi::xml_node root) { return std::string(BareEtag(ChildText(root, "ETag"))); }

}  // namespace

bool ParseErrorDocument(std::string_view body, ServerAnswer* answer) {
  XmlAnswer xml;
  if (body.empty() || !ParseXml(body, "the error answer", &xml).ok()) return false;
  pugi::xml_node error = xml.root;
  if (std::strcmp(error.name(), "ErrorResponse") == 0) error = error.child("Error");
  if (std::strcmp(error.name(), "Error") != 0) return false;
  std::string code = ChildText(error, "Code");
  if (code.empty()) return false;
  answer->code = std::move(code);
  answer->message = ChildText(error, "Message");
  auto fill = [error](std::string& field, const char* name) {
    if (std::string text = ChildText(error, name); !text.empty()) field = std::move(text);
  };
  fill(answer->request_id, "RequestId");
  fill(answer->region, "Region");
  fill(answer->endpoint, "Endpoint");
  return true;
}

std::optional<std::uint64_t> ParseActualObjectSize(std::string_view body) {
  XmlAnswer xml;
  if (body.empty() || !ParseXml(body, "the error answer", &xml).ok()) return std::nullopt;
  return ParseNumber<std::uint64_t>(ChildText(xml.root, "ActualObjectSize"));
}

Result<std::string> ParseInitiateMultipartUpload(std::string_view body) {
  XmlAnswer xml;
  constexpr std::string_view kWhat = "the answer to CreateMultipartUpload";
  RETURN_IF_ERROR(ParseXmlRoot(body, "InitiateMultipartUploadResult", kWhat, &xml));
  std::string upload_id = ChildText(xml.root, "UploadId");
  if (upload_id.empty()) {
    return Status(StatusCode::kProtocol, fmt::format("{} has no UploadId", kWhat));
  }
  return upload_id;
}

Result<std::string> ParseCompleteMultipartUpload(std::string_view body) {
  XmlAnswer xml;
  RETURN_IF_ERROR(ParseXmlRoot(body, "CompleteMultipartUploadResult",
                               "the answer to CompleteMultipartUpload", &xml));
  return ReadEtag(xml.root);
}

Result<std::string> ParseCopyResult(std::string_view body) {
  XmlAnswer xml;
  constexpr std::string_view kWhat = "the answer to CopyObject";
  RETURN_IF_ERROR(ParseXml(body, kWhat, &xml));
  const std::string_view name = xml.root.name();
  if (name != "CopyObjectResult" && name != "CopyPartResult") {
    return Status(
        StatusCode::kProtocol,
        fmt::format("{} is a <{}>, not the <CopyObjectResult> or <CopyPartResult> expected", kWhat,
                    name.substr(0, 40)));
  }
  return ReadEtag(xml.root);
}

Result<std::map<std::string, std::string>> ParseTagging(std::string_view body) {
  XmlAnswer xml;
  RETURN_IF_ERROR(ParseXmlRoot(body, "Tagging", "the answer to GetObjectTagging", &xml));
  std::map<std::string, std::string> tags;
  for (const pugi::xml_node tag : xml.root.child("TagSet").children("Tag")) {
    tags.emplace(ChildText(tag, "Key"), ChildText(tag, "Value"));
  }
  return tags;
}

Result<std::vector<std::string>> ParseBuckets(std::string_view body) {
  XmlAnswer xml;
  RETURN_IF_ERROR(ParseXmlRoot(body, "ListAllMyBucketsResult", "the answer to ListBuckets", &xml));
  std::vector<std::string> names;
  for (const pugi::xml_node bucket : xml.root.child("Buckets").children("Bucket")) {
    names.push_back(ChildText(bucket, "Name"));
  }
  return names;
}

Result<std::vector<DeleteFailure>> ParseDeleteResult(std::string_view body) {
  XmlAnswer xml;
  RETURN_IF_ERROR(ParseXmlRoot(body, "DeleteResult", "the answer to DeleteObjects", &xml));
  std::vector<DeleteFailure> failures;
  for (const pugi::xml_node error : xml.root.children("Error")) {
    failures.push_back(
        {ChildText(error, "Key"), ChildText(error, "Code"), ChildText(error, "Message")});
  }
  return failures;
}

std::string BuildCompleteMultipartUpload(std::span<const CompletedPart> parts) {
  std::string xml(kDeclaration);
  xml += "<CompleteMultipartUpload";
  xml += kNamespace;
  xml += '>';
  for (const CompletedPart& part : parts) {
    xml += "<Part>";
    if (part.checksum.algorithm() != ChecksumAlgorithm::kNone) {
      AppendElement(xml, ChecksumElement(part.checksum.algorithm()), part.checksum.ToHeader());
    }
    AppendElement(xml, "ETag", QuotedEtag(part.etag));
    AppendElement(xml, "PartNumber", std::to_string(part.number));
    xml += "</Part>";
  }
  xml += "</CompleteMultipartUpload>";
  return xml;
}

bool XmlCanCarry(std::string_view key) {
  if (key.empty() || key.front() == ' ' || key.back() == ' ') return false;
  while (!key.empty()) {
    const auto c = static_cast<unsigned char>(key.front());
    const std::size_t length = Utf8Length(key);
    if (c < 0x20 || c == 0x7F || length == 0) return false;
    key.remove_prefix(length);
  }
  return true;
}

std::string BuildDelete(std::span<const std::string_view> keys) {
  std::string xml(kDeclaration);
  xml += "<Delete";
  xml += kNamespace;
  xml += '>';
  for (const std::string_view key : keys) {
    xml += "<Object>";
    AppendElement(xml, "Key", key);
    xml += "</Object>";
  }
  xml += "<Quiet>true</Quiet></Delete>";
  return xml;
}

std::string BuildCreateBucket(std::string_view region) {
  if (region.empty() || region == "us-east-1") return {};
  std::string xml(kDeclaration);
  xml += "<CreateBucketConfiguration";
  xml += kNamespace;
  xml += '>';
  AppendElement(xml, "LocationConstraint", region);
  xml += "</CreateBucketConfiguration>";
  return xml;
}

}  // namespace headrace::s3
