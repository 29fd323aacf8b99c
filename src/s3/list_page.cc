#include "s3/list_page.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/macros.h"
#include "s3/etag.h"
#include "s3/time_text.h"
#include "s3/uri.h"
#include "s3/xml_reader.h"

namespace headrace::s3 {
namespace {

constexpr std::string_view kWhat = "the list answer";

class PageReader {
 public:
  PageReader(bool url_encoded, ListPage* page) : url_encoded_(url_encoded), page_(page) {}

  // Where the text stands in one piece, as it does in practice, a view of it.
  std::string_view View(pugi::xml_node element) {
    const pugi::xml_node first = element.first_child();
    if (!first) return {};
    if (!first.next_sibling() && first.type() != pugi::node_element) return first.value();
    return page_->pieced_together.emplace_back(ElementText(element));
  }

  // A name, decoded in place.
  std::string_view Name(pugi::xml_node element) {
    const std::string_view text = View(element);
    if (!url_encoded_ || text.empty()) return text;
    // The bytes are ours: they lie in page->text or page->pieced_together.
    char* bytes = const_cast<char*>(text.data());
    return {bytes, DecodeListedInPlace(bytes, text.size())};
  }

  Status AddObject(pugi::xml_node contents) {
    ListedObject object;
    std::string_view size;
    for (const pugi::xml_node field : contents.children()) {
      const std::string_view name = field.name();
      if (name == "Key") {
        object.key = Name(field);
      } else if (name == "Size") {
        size = View(field);
      } else if (name == "ETag") {
        object.etag = BareEtag(View(field));
      } else if (name == "StorageClass") {
        object.storage_class = View(field);
      } else if (name == "LastModified") {
        if (const auto time = ParseIso8601(View(field))) {
          object.last_modified_ns =
              std::chrono::duration_cast<std::chrono::nanoseconds>(time->time_since_epoch())
                  .count();
        }
      }
    }
    if (object.key.empty()) {
      return Status(StatusCode::kProtocol,
                    fmt::format("{}: entry {} has no key", kWhat, page_->objects.size() + 1));
    }
    const std::optional<std::uint64_t> bytes = ParseNumber<std::uint64_t>(size);
    if (!bytes) {
      return Status(StatusCode::kProtocol, fmt::format("{}: the size of key '{}' is '{}'", kWhat,
                                                       object.key, size.substr(0, 40)));
    }
    object.size = *bytes;
    page_->objects.push_back(object);
    return {};
  }

  Status AddPrefix(pugi::xml_node common_prefixes) {
    // Some servers put several <Prefix> into one element.
    for (const pugi::xml_node prefix : common_prefixes.children("Prefix")) {
      page_->common_prefixes.push_back(Name(prefix));
    }
    return {};
  }

 private:
  bool url_encoded_;
  ListPage* page_;
};

}  // namespace

Result<ListPage> ParseListPage(std::string_view body) {
  XmlAnswer answer;
  RETURN_IF_ERROR(ParseXmlRoot(body, "ListBucketResult", kWhat, &answer));
  ListPage page;
  page.text = std::move(answer.text);
  const bool url_encoded = ChildText(answer.root, "EncodingType") == "url";
  PageReader reader(url_encoded, &page);
  for (const pugi::xml_node child : answer.root.children()) {
    const std::string_view name = child.name();
    if (name == "Contents") {
      RETURN_IF_ERROR(reader.AddObject(child));
    } else if (name == "CommonPrefixes") {
      RETURN_IF_ERROR(reader.AddPrefix(child));
    } else if (name == "IsTruncated") {
      const std::string_view truncated = reader.View(child);
      if (truncated != "true" && truncated != "false") {
        return Status(StatusCode::kProtocol,
                      fmt::format("{}: IsTruncated is '{}'", kWhat, truncated.substr(0, 40)));
      }
      page.truncated = truncated == "true";
    } else if (name == "NextContinuationToken") {
      page.next_token = reader.View(child);  // opaque: never decoded
    }
  }
  return page;
}

}  // namespace headrace::s3
