// Results of the JIT's C functions: a string that stays valid for a while, or a status.
#pragma once

#include <string>

#include "capi/guard.h"

namespace uh {

// Stores f's result in `buffer`, the calling function's thread_local; it is valid until its next
// call.
template <class F>
const char* text_of(std::string& buffer, F&& f) {
  return guard(static_cast<const char*>(nullptr), [&] {
    buffer = f();
    return buffer.c_str();
  });
}

// Returns 0, or -1 if f throws.
template <class F>
int done(F&& f) {
  return guard(-1, [&] {
    f();
    return 0;
  });
}

}  // namespace uh
