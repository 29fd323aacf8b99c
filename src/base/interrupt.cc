#include "headrace/interrupt.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPeriod = std::chrono::milliseconds(50);

thread_local ScopedInterruptCheck::Check current = nullptr;
thread_local Clock::time_point due = Clock::time_point::max();

}  // namespace

ScopedInterruptCheck::ScopedInterruptCheck(Check check) {
  current = check;
  due = Clock::now() + kPeriod;
}

ScopedInterruptCheck::~ScopedInterruptCheck() {
  current = nullptr;
  due = Clock::time_point::max();
}

bool ScopedInterruptCheck::Installed() { return current != nullptr; }

Clock::time_point ScopedInterruptCheck::Due() { return due; }

bool ScopedInterruptCheck::Run() {
  const bool interrupted = current();
  due = Clock::now() + kPeriod;
  return interrupted;
}

}  // namespace headrace
