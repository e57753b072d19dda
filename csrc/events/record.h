// One event: 64 bytes, the same in shared memory, in the trace file and in NumPy.
//
// Invariant: the layout never changes within a trace version; new meanings are new kinds.
// Read next: event_list.inc (what each kind says), codes.inc (the codes in its fields), recorder.h
// (how records leave the process).
#pragma once

#include <cstdint>

#include "base/bit_field.h"

namespace uh::events {

enum class Kind : uint16_t {
#define UH_EVENT(name, number, time, a, b, c, d, e, blob, sentence) k##name = number,
#include "events/event_list.inc"
#undef UH_EVENT
};

#define UH_RECORD_FLAG(constant, name, bit) inline constexpr uint16_t constant = 1 << bit;
#include "events/codes.inc"

#define UH_LAYOUT_FIELD(constant, name, shift, bits) inline constexpr BitField constant{shift, bits};
#include "events/codes.inc"

struct Record {
  uint64_t number;
  uint64_t time_ns;  // CLOCK_MONOTONIC
  uint32_t thread;
  uint16_t kind;
  uint16_t flags;
  int64_t a, b, c, d, e;
};
static_assert(sizeof(Record) == 64);

// The kinds of holders of a Storage or a TensorImpl; fields `holder_kind` carry these codes.
enum class Holder : int64_t {
  kNone,
#define UH_HOLDER(enumerator, name, group, label) enumerator,
#include "events/codes.inc"
};

}  // namespace uh::events
