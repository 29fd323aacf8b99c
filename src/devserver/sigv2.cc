#include "devserver/sigv2.h"

#include <algorithm>
#include <map>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "devserver/text.h"

namespace headrace::devserver {
namespace {

// The query parameters that are part of the resource.
constexpr std::string_view kSubresources[] = {"acl",
                                              "cors",
                                              "delete",
                                              "lifecycle",
                                              "location",
                                              "logging",
                                              "notification",
                                              "partNumber",
                                              "policy",
                                              "requestPayment",
                                              "response-cache-control",
                                              "response-content-disposition",
                                              "response-content-encoding",
                                              "response-content-language",
                                              "response-content-type",
                                              "response-expires",
                                              "restore",
                                              "tagging",
                                              "torrent",
                                              "uploadId",
                                              "uploads",
                                              "versionId",
                                              "versioning",
                                              "versions",
                                              "website"};

}  // namespace

std::string StringToSignV2(const RequestHead& head, const QueryParams& query) {
  std::string out(head.method());
  out += '\n';
  out += head.Header("content-md5");
  out += '\n';
  out += head.Header("content-type");
  out += '\n';
  out += query.Get("Expires");
  out += '\n';
  std::map<std::string_view, std::string> amz;
  for (const auto& [name, value] : head.headers()) {
    if (!name.starts_with("x-amz-")) continue;
    std::string& joined = amz[name];
    if (!joined.empty()) joined += ',';
    joined += value;
  }
  for (const auto& [name, value] : query.all()) {
    if (name.starts_with("x-amz-")) amz[name] = value;  // hoisted into the query, as botocore does
  }
  for (const auto& [name, value] : amz) {
    out += name;
    out += ':';
    out += value;
    out += '\n';
  }
  out += head.path();
  std::map<std::string_view, std::string_view> parameters;
  for (const auto& [name, value] : query.all()) {
    if (std::find(std::begin(kSubresources), std::end(kSubresources), name) !=
        std::end(kSubresources)) {
      parameters[name] = value;
    }
  }
  char separator = '?';
  for (const auto& [name, value] : parameters) {
    out += separator;
    out += name;
    if (!value.empty()) {
      out += '=';
      out += value;
    }
    separator = '&';
  }
  return out;
}

std::string SignatureV2(std::string_view secret_key, std::string_view string_to_sign) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha1(), secret_key.data(), static_cast<int>(secret_key.size()),
       reinterpret_cast<const unsigned char*>(string_to_sign.data()), string_to_sign.size(), digest,
       &size);
  return Base64Encode({reinterpret_cast<char*>(digest), size});
}

}  // namespace headrace::devserver
