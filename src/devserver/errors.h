// S3's error answers as Statuses: ErrorInfo carries the HTTP status and S3's code.
#pragma once

#include <string>
#include <string_view>

#include "headrace/status.h"

namespace headrace::devserver {

// An error that a client will read. `code` is one of S3's ("NoSuchKey"); the HTTP status follows
// from it (400 for codes without an entry in the table). An empty message gets S3's own text.
Status S3Error(std::string_view code, std::string_view message = {});

// The <Error> document for `error`; an error without an S3 code is InternalError.
// `extra` is further XML, e.g. "<Region>eu-west-1</Region>".
std::string ErrorXml(const Status& error, std::string_view resource, std::string_view request_id,
                     std::string_view extra);

int HttpStatusOf(const Status& error);
std::string_view ReasonPhrase(int http_status);

}  // namespace headrace::devserver
