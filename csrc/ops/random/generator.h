// The source of random numbers: a seed and a counter, shared by all threads and devices, so that a
// seed gives the same numbers wherever they are drawn.
//
// Note [Reproducible random numbers]: Philox turns (seed, counter) into four 32-bit words without
// any other state. A kernel reserves as many counter values as it needs, once, and element i's
// numbers depend only on its own counter: not on threads, their number, or the instruction set.
// Invariant: two reservations never overlap, so no two elements of a run share their numbers.
#pragma once

#include <cstdint>

namespace uh::random {

struct State {
  uint64_t seed;
  uint64_t offset;  // the next unused counter value
};

// Restarts the generator: offset 0. The same seed gives the same numbers again.
void manual_seed(uint64_t seed);

State state();
void set_state(State state);

// Takes `counters` counter values; the returned state's offset is the first of them.
State reserve(uint64_t counters);

}  // namespace uh::random
