#include "ops/random/generator.h"

#include <array>
#include <mutex>

namespace uh::random {
namespace {

constexpr uint64_t kDefaultSeed = 67280421310721;  // PyTorch's default_rng_seed_val

std::mutex g_mutex;
constinit std::array<State, kDeviceTypeCount> g_states = [] {
  std::array<State, kDeviceTypeCount> states{};
  states.fill({kDefaultSeed, 0});
  return states;
}();

State& state_of(DeviceType type) { return g_states[static_cast<size_t>(type)]; }

}  // namespace

void manual_seed(uint64_t seed) {
  const std::lock_guard guard(g_mutex);
  g_states.fill({seed, 0});
}

State state(DeviceType type) {
  const std::lock_guard guard(g_mutex);
  return state_of(type);
}

void set_state(State state, DeviceType type) {
  const std::lock_guard guard(g_mutex);
  state_of(type) = state;
}

State reserve(uint64_t counters, DeviceType type) {
  const std::lock_guard guard(g_mutex);
  const State reserved = state_of(type);
  state_of(type).offset += counters;
  return reserved;
}

}  // namespace uh::random
