// Every reader of the S3 protocol's XML.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "s3/list_page.h"
#include "s3/xml.h"

namespace {

// What holds of any page that was accepted.
void CheckPage(const headrace::s3::ListPage& page) {
  std::size_t bytes = 0;
  for (const auto& object : page.objects) {
    if (object.key.empty()) std::abort();
    for (const char c : object.key) bytes += static_cast<unsigned char>(c);  // reads all of it
    bytes += object.etag.size() + object.storage_class.size();
  }
  for (const std::string_view prefix : page.common_prefixes) {
    for (const char c : prefix) bytes += static_cast<unsigned char>(c);
  }
  volatile std::size_t sink = bytes;
  (void)sink;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto page = headrace::s3::ParseListPage(body);
  if (page.ok()) CheckPage(*page);
  headrace::s3::ServerAnswer answer;
  if (headrace::s3::ParseErrorDocument(body, &answer)) {
    if (answer.code.empty()) std::abort();
    answer.http_status = 200;
    const headrace::s3::RequestFacts facts{.bucket = "b", .key = "k"};
    if (headrace::s3::Classify(answer, facts) == headrace::s3::ErrorClass::kNone) std::abort();
    if (headrace::s3::ToStatus(answer, facts).message().empty()) std::abort();
  }
  const auto upload = headrace::s3::ParseInitiateMultipartUpload(body);
  if (upload.ok() && upload->empty()) std::abort();
  (void)headrace::s3::ParseCompleteMultipartUpload(body);
  (void)headrace::s3::ParseCopyResult(body);
  (void)headrace::s3::ParseDeleteResult(body);
  return 0;
}
