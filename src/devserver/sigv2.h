// Presigned URLs of Signature Version 2: what `aws s3 presign` of the AWS CLI 1 and boto3 make
// unless they are told otherwise. Nothing else of version 2 is known here.
#pragma once

#include <string>
#include <string_view>

#include "devserver/http_request.h"

namespace headrace::devserver {

// What a version 2 URL signs, for a path-style request.
std::string StringToSignV2(const RequestHead& head, const QueryParams& query);
// Its signature: base64 of HMAC-SHA1.
std::string SignatureV2(std::string_view secret_key, std::string_view string_to_sign);

}  // namespace headrace::devserver
