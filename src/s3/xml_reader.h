// The few things all readers of S3's XML need. Private to the module.
#pragma once

#include <charconv>
#include <cstddef>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <pugixml.hpp>

#include "headrace/status.h"

namespace headrace::s3 {

// A parsed answer. The nodes' texts point into `text`.
struct XmlAnswer {
  std::unique_ptr<char[]> text;
  pugi::xml_document document;
  pugi::xml_node root;
};

// Parses `body` in place in a copy of its own. `what` names the answer in errors ("the list
// answer"). kProtocol when it is not one XML document.
Status ParseXml(std::string_view body, std::string_view what, XmlAnswer* answer);

// The same, and the root must have that name.
Status ParseXmlRoot(std::string_view body, const char* root, std::string_view what,
                    XmlAnswer* answer);

// The text of an element with everything in it, CDATA and pieces around comments included. "" for a
// missing one.
std::string ElementText(pugi::xml_node element);
inline std::string ChildText(pugi::xml_node parent, const char* name) {
  return ElementText(parent.child(name));
}

// Decimal digits and nothing else.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace headrace::s3
