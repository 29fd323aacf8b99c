#include "devserver/record.h"

#include <nlohmann/json.hpp>

#include "devserver/text.h"

namespace headrace::devserver {
namespace {

using nlohmann::json;

json SegmentsToJson(const std::vector<Segment>& segments) {
  json out = json::array();
  for (const Segment& s : segments) out.push_back({s.file->id(), s.offset, s.size});
  return out;
}

std::vector<Segment> SegmentsFromJson(const json& in, const FileResolver& resolve) {
  std::vector<Segment> segments;
  for (const json& s : in) {
    segments.push_back({resolve(s.at(0).get<std::uint64_t>()), s.at(1), s.at(2)});
  }
  return segments;
}

void PutChecksum(json& out, const std::optional<Checksum>& checksum) {
  if (!checksum) return;
  out["c"] = {ChecksumName(checksum->algorithm), checksum->value, checksum->composite};
}

std::optional<Checksum> GetChecksum(const json& in) {
  auto found = in.find("c");
  if (found == in.end()) return std::nullopt;
  Checksum checksum;
  checksum.algorithm = ParseChecksumName(found->at(0).get<std::string>()).value();
  checksum.value = found->at(1);
  checksum.composite = found->at(2);
  return checksum;
}

}  // namespace

std::string EncodeText(std::string_view bytes) { return UriEncode(bytes, true); }
std::string DecodeText(const std::string& text) {
  return UriDecode(text, false).value_or(std::string());
}

json MetaToJson(const ObjectMeta& meta) {
  json out = {{"e", meta.etag},
              {"n", meta.size},
              {"m", meta.modified_ms},
              {"s", SegmentsToJson(meta.segments)}};
  if (meta.storage_class != "STANDARD") out["sc"] = meta.storage_class;
  if (!meta.headers.empty()) {
    json headers = json::array();
    for (const auto& [name, value] : meta.headers) headers.push_back({name, EncodeText(value)});
    out["h"] = std::move(headers);
  }
  if (!meta.tags.empty()) out["t"] = EncodeText(meta.tags);
  if (!meta.part_sizes.empty()) out["p"] = meta.part_sizes;
  if (!meta.upload_id.empty()) out["u"] = meta.upload_id;
  PutChecksum(out, meta.checksum);
  return out;
}

ObjectMeta MetaFromJson(const json& in, const FileResolver& resolve) {
  ObjectMeta meta;
  meta.etag = in.at("e");
  meta.size = in.at("n");
  meta.modified_ms = in.at("m");
  meta.segments = SegmentsFromJson(in.at("s"), resolve);
  meta.storage_class = in.value("sc", "STANDARD");
  if (in.contains("h")) {
    for (const json& h : in.at("h")) {
      meta.headers.emplace_back(h.at(0), DecodeText(h.at(1)));
    }
  }
  meta.tags = DecodeText(in.value("t", ""));
  if (in.contains("p")) meta.part_sizes = in.at("p").get<std::vector<std::uint64_t>>();
  meta.upload_id = in.value("u", "");
  meta.checksum = GetChecksum(in);
  return meta;
}

json PartToJson(const Part& part) {
  json out = {{"e", part.etag},
              {"n", part.size},
              {"m", part.modified_ms},
              {"s", SegmentsToJson(part.segments)}};
  PutChecksum(out, part.checksum);
  return out;
}

Part PartFromJson(const json& in, const FileResolver& resolve) {
  Part part;
  part.etag = in.at("e");
  part.size = in.at("n");
  part.modified_ms = in.at("m");
  part.segments = SegmentsFromJson(in.at("s"), resolve);
  part.checksum = GetChecksum(in);
  return part;
}

json UploadToJson(const Upload& upload) {
  return {{"id", upload.id},
          {"b", upload.bucket},
          {"k", EncodeText(upload.key)},
          {"at", upload.started_ms},
          {"meta", MetaToJson(upload.meta)},
          {"alg", ChecksumName(upload.algorithm)},
          {"comp", upload.composite},
          {"asked", upload.checksum_asked}};
}

Upload UploadFromJson(const json& in, const FileResolver& resolve) {
  Upload upload;
  upload.id = in.at("id");
  upload.bucket = in.at("b");
  upload.key = DecodeText(in.at("k"));
  upload.started_ms = in.at("at");
  upload.meta = MetaFromJson(in.at("meta"), resolve);
  upload.algorithm = ParseChecksumName(in.at("alg").get<std::string>()).value();
  upload.composite = in.at("comp");
  upload.checksum_asked = in.at("asked");
  return upload;
}

}  // namespace headrace::devserver
