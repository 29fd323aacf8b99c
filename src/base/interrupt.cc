#include "headrace/interrupt.h"

namespace headrace {
namespace {
thread_local ScopedInterruptCheck::Check current = nullptr;
}  // namespace

ScopedInterruptCheck::ScopedInterruptCheck(Check check) { current = check; }
ScopedInterruptCheck::~ScopedInterruptCheck() { current = nullptr; }
ScopedInterruptCheck::Check ScopedInterruptCheck::Current() { return current; }

}  // namespace headrace
