// Stopping long native loops: Ctrl+C of the host language.
//
// What: loops of scripted programs call poll_interrupt() now and then; some twenty times a second
// it asks the host, whose answer may be an exception (Python: KeyboardInterrupt), thrown from here.
// Invariant: code that polls must be exception-safe at that point.
#pragma once

#include <atomic>
#include <cstdint>

namespace uh::jit {

// Set by the host: throws (kForeign) when the running program shall stop. Null: never interrupted.
extern std::atomic<void (*)()> g_interrupt;

void poll_interrupt();

}  // namespace uh::jit
