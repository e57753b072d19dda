// Results of C functions: a string with a limited lifetime, or a status.
#pragma once

#include <string>

#include "capi/guard.h"

namespace uh {

// This thread's string for `key`; its address never changes.
std::string& returned_string(const void* key);

// Returns f's result, valid until the calling function's next call on this thread.
template <class F>
const char* text_of(F&& f) {
  static constexpr char key = 0;  // one per caller, as F is the type of its lambda
  return guard(static_cast<const char*>(nullptr), [&] {
    std::string& text = returned_string(&key);
    text = f();
    return text.c_str();
  });
}

// Runs f; returns 0, or -1 if it throws.
template <class F>
int done(F&& f) {
  return guard(-1, [&] {
    f();
    return 0;
  });
}

}  // namespace uh
