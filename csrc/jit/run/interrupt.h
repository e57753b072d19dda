// Interruption of long native loops, as by Ctrl+C in the host language.
//
// Loops of scripted programs call poll_interrupt() regularly; about 20 times a second it calls the
// host, which may throw an exception (Python: KeyboardInterrupt). Invariant: code that polls
// must be exception-safe at that point.
#pragma once

#include <atomic>
#include <cstdint>

namespace uh::jit {

// Set by the host: throws (kForeign) if the running program is to stop. Null: never interrupted.
extern std::atomic<void (*)()> g_interrupt;

void poll_interrupt();

}  // namespace uh::jit
