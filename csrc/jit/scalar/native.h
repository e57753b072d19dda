// The interface between a ScalarProgram's machine code and C++.
#pragma once

#include <cstdint>

#include "jit/scalar/program.h"

namespace uh::jit {

// Returns kNativeDone, kNativePending (an exception is stored), or the index of a failing site.
using NativeEntry = int64_t (*)(int64_t* slots, const ScalarProgram* program);
inline constexpr int64_t kNativeDone = -1;
inline constexpr int64_t kNativePending = -2;
// Iterations between two polls for interruption: some ten thousandths of a
// second.
inline constexpr int32_t kScalarTripsBetweenPolls = 1 << 16;

// Called by machine code: 0, or 1 if an exception is stored.
extern "C" int64_t uh_scalar_site(const ScalarProgram* program, int64_t* slots, int64_t site,
                                  int64_t dst);
extern "C" int64_t uh_scalar_poll();

}  // namespace uh::jit
