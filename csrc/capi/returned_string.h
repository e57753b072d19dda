// How the JIT's part of the C ABI answers: with a text that stays for a while, or with nothing.
#pragma once

#include <string>

#include "capi/guard.h"

namespace uh {

// A text that stays until the same function, whose `kept` it is, is called again on this thread.
template <class F>
const char* text_of(std::string& buffer, F&& f) {
  return guard(static_cast<const char*>(nullptr), [&] {
    buffer = f();
    return buffer.c_str();
  });
}

// 0, or -1 where it fails.
template <class F>
int done(F&& f) {
  return guard(-1, [&] {
    f();
    return 0;
  });
}

}  // namespace uh
