// Journal records <-> the store's values. Strings that JSON or its readers might not carry (keys,
// header values) are percent-encoded.
#pragma once

#include <functional>
#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "devserver/object_meta.h"

namespace headrace::devserver {

// Gives the one DataFile of an id.
using FileResolver = std::function<std::shared_ptr<DataFile>(std::uint64_t id)>;

nlohmann::json MetaToJson(const ObjectMeta& meta);
ObjectMeta MetaFromJson(const nlohmann::json& json,
                        const FileResolver& resolve);  // throws json errors
nlohmann::json PartToJson(const Part& part);
Part PartFromJson(const nlohmann::json& json, const FileResolver& resolve);
nlohmann::json UploadToJson(const Upload& upload);  // without its parts
Upload UploadFromJson(const nlohmann::json& json, const FileResolver& resolve);

std::string EncodeText(std::string_view bytes);
std::string DecodeText(const std::string& text);

}  // namespace headrace::devserver
