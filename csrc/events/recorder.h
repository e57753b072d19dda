// The recorder: every layer above calls `if (events::on()) events::emit(...)`.
//
// Records go into a ring in shared memory; another process (engine/inspect/writer.py) drains it
// into the trace, so a killed program loses nothing and nothing here waits for Python.
// Invariant: when off, a call site costs one relaxed load and one predictable branch. Recording
// never changes what is recorded: no references are taken, no ids are drawn.
// Read next: ring.h for the layout of the shared memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "events/record.h"

namespace uh::events {

#define UH_RECORD_MODE(constant, name, bit) inline constexpr uint32_t constant = 1 << bit;
#include "events/codes.inc"
inline constexpr uint32_t kOn = 4;

extern std::atomic<uint32_t> g_mode;

inline bool on() { return g_mode.load(std::memory_order_relaxed) != 0; }
inline bool values_on() { return (g_mode.load(std::memory_order_relaxed) & kValues) != 0; }

// Maps the ring of file descriptor `fd` and starts. Throws when it is not a ring.
void open(int fd, uint64_t value_budget);
void close();

// Writes one record and returns its number. Blocks while the ring is full; if the writer process
// has died, recording stops and the loss is counted in the ring's header.
uint64_t emit(Kind kind, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0, int64_t e = 0,
              uint16_t flags = 0);
uint64_t emit_blob(Kind kind, int64_t a, int64_t b, int64_t c, int64_t d, const void* bytes,
                   size_t length, uint16_t flags = 0);

// The number of a string; emits STRING at its first use in a recording.
int64_t intern(std::string_view text);

// Counts recordings: numbers interned in one mean nothing in the next.
extern std::atomic<uint32_t> g_generation;

// A string that is recorded repeatedly (an operator's schema): its number, looked up once a
// recording.
class InternedText {
 public:
  // `text` is a string_view or a C string, whose end is looked for only once a recording.
  template <class Text>
  int64_t number(const Text& text) const {
    const uint64_t seen = cache_.load(std::memory_order_relaxed);
    const uint64_t generation = g_generation.load(std::memory_order_relaxed);
    if (seen >> 32 == generation && seen != 0) return static_cast<int64_t>(seen & 0xffffffffu);
    const int64_t fresh = intern(text);
    cache_.store(generation << 32 | static_cast<uint64_t>(fresh), std::memory_order_relaxed);
    return fresh;
  }

 private:
  mutable std::atomic<uint64_t> cache_{0};
};

// Copies bytes [lo, hi) of a storage into the trace, whole or sampled, within the value budget.
struct ValueSource {
  int64_t storage;
  const std::byte* base;
  int64_t lo, hi;  // byte span
  int dtype;       // code of the elements in the span, for the sample's statistics
};
void capture_values(const ValueSource& source);

}  // namespace uh::events
