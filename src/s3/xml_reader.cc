#include "s3/xml_reader.h"

#include <algorithm>
#include <cstring>

#include "base/macros.h"

namespace headrace::s3 {
namespace {

// The beginning of an answer as a message can show it.
std::string Excerpt(std::string_view body) {
  std::string excerpt(body.substr(0, 60));
  std::replace_if(
      excerpt.begin(), excerpt.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7F; }, ' ');
  return excerpt;
}

}  // namespace

Status ParseXml(std::string_view body, std::string_view what, XmlAnswer* answer) {
  answer->text = std::make_unique<char[]>(body.size() + 1);
  std::memcpy(answer->text.get(), body.data(), body.size());
  // A key of one space is text that only consists of blanks, hence ws_pcdata_single.
  const unsigned options = pugi::parse_default | pugi::parse_ws_pcdata_single;
  const pugi::xml_parse_result parsed = answer->document.load_buffer_inplace(
      answer->text.get(), body.size(), options, pugi::encoding_utf8);
  if (!parsed) {
    return Status(
        StatusCode::kProtocol,
        body.empty()
            ? fmt::format("{} is empty", what)
            : fmt::format("{} is not XML or was cut short ({} at byte {} of {}): '{}'", what,
                          parsed.description(), parsed.offset, body.size(), Excerpt(body)));
  }
  answer->root = answer->document.document_element();
  return {};
}

Status ParseXmlRoot(std::string_view body, const char* root, std::string_view what,
                    XmlAnswer* answer) {
  RETURN_IF_ERROR(ParseXml(body, what, answer));
  if (std::strcmp(answer->root.name(), root) != 0) {
    return Status(StatusCode::kProtocol, fmt::format("{} is a <{}>, not the <{}> expected", what,
                                                     Excerpt(answer->root.name()), root));
  }
  return {};
}

std::string ElementText(pugi::xml_node element) {
  std::string text;
  for (const pugi::xml_node child : element.children()) {
    if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata)
      text += child.value();
  }
  return text;
}

}  // namespace headrace::s3
