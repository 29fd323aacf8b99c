// The project's only two macros: early return on error.
#pragma once

#include "headrace/status.h"

#define HEADRACE_CONCAT_INNER_(a, b) a##b
#define HEADRACE_CONCAT_(a, b) HEADRACE_CONCAT_INNER_(a, b)

// Returns from the calling function when `expr` (a Status) is not OK.
#define RETURN_IF_ERROR(expr)                            \
  do {                                                   \
    ::headrace::Status headrace_status_ = (expr);        \
    if (!headrace_status_.ok()) return headrace_status_; \
  } while (false)

// ASSIGN_OR_RETURN(auto x, F()): x = value of the Result, or return its Status.
#define ASSIGN_OR_RETURN(declaration, expr) \
  HEADRACE_ASSIGN_OR_RETURN_IMPL_(HEADRACE_CONCAT_(headrace_result_, __LINE__), declaration, expr)
#define HEADRACE_ASSIGN_OR_RETURN_IMPL_(tmp, declaration, expr) \
  auto tmp = (expr);                                            \
  if (!tmp.ok()) return tmp.status();                           \
  declaration = std::move(tmp).value()
