// The random number generator: a seed and a counter, shared by all threads and devices, so that a
// seed produces the same numbers on each of them.
//
// Note [Reproducible random numbers]: Philox maps (seed, counter) to four 32-bit words without any
// other state. A kernel reserves all counter values that it needs at once, and element i's numbers
// depend only on its counter: not on the number of threads or the instruction set.
// Invariant: reservations never overlap, so no two elements of a run share their numbers.
#pragma once

#include <cstdint>

namespace uh::random {

struct State {
  uint64_t seed;
  uint64_t offset;  // the next unused counter value
};

// Sets the seed and resets the offset to 0. Equal seeds produce equal numbers.
void manual_seed(uint64_t seed);

State state();
void set_state(State state);

// Reserves `counters` counter values; the returned state's offset is the first of them.
State reserve(uint64_t counters);

}  // namespace uh::random
