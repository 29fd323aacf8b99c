// The error of whoever finds another version than the one it reads.
#pragma once

#include <fmt/format.h>

#include "store/store.h"

namespace headrace::object {

inline Status Replaced(const store::Name& name) {
  return Status(StatusCode::kObjectChanged,
                fmt::format("{} was replaced while it was being read, or since it was listed; read "
                            "it again, after listing it again if its address came from a listing",
                            name.key));
}

}  // namespace headrace::object
