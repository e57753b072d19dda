#include "ops/random/generator.h"

#include <mutex>

namespace uh::random {
namespace {

constexpr uint64_t kDefaultSeed = 67280421310721;  // PyTorch's default_rng_seed_val

std::mutex g_mutex;
constinit State g_state{kDefaultSeed, 0};

}  // namespace

void manual_seed(uint64_t seed) {
  const std::lock_guard guard(g_mutex);
  g_state = {seed, 0};
}

State state() {
  const std::lock_guard guard(g_mutex);
  return g_state;
}

void set_state(State state) {
  const std::lock_guard guard(g_mutex);
  g_state = state;
}

State reserve(uint64_t counters) {
  const std::lock_guard guard(g_mutex);
  const State reserved = g_state;
  g_state.offset += counters;
  return reserved;
}

}  // namespace uh::random
