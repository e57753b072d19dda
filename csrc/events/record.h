// One event: 64 bytes, the same in shared memory, in the trace file and in NumPy.
//
// Invariant: the layout never changes within a trace version; new meanings are new kinds.
// Read next: event_list.inc (what each kind says), recorder.h (how records leave the process).
#pragma once

#include <cstdint>

namespace uh::events {

enum class Kind : uint16_t {
#define UH_EVENT(name, number, a, b, c, d, e, blob, sentence) k##name = number,
#include "events/event_list.inc"
#undef UH_EVENT
};

inline constexpr uint16_t kTruncated = 1;      // flag: the blob was cut to fit
inline constexpr uint16_t kHasBlob = 1 << 15;  // flag: field e is a blob position

struct Record {
  uint64_t number;
  uint64_t time_ns;  // CLOCK_MONOTONIC
  uint32_t thread;
  uint16_t kind;
  uint16_t flags;
  int64_t a, b, c, d, e;
};
static_assert(sizeof(Record) == 64);

// Who may hold a Storage or a TensorImpl; fields `holder_kind` carry these codes. Of those of the
// JIT, what `holder` is and what `place` within it, behind each.
enum class Holder : int64_t {
  kName = 1,
  kSlot,
  kAttribute,
  kCell,
  kWrapper,
  kTensor,
  kNumpy,
  kDLPack,
  kCall,
  kSaved,
  kGrad,
  kJit,
  kBuffer,
  kRegister,  // frame; register | pc that wrote it << 16
  kOperand,   // frame; how deep on its stack, from 0
  kList,      // a number of its own; index
  kTuple,     // likewise
  kDict,      // a number of its own; the key's text
  kObject,    // a number of its own; text "attribute weight of module Cell 3"
  kConstant,  // graph; node
  kCode,      // code; index among its constants
  kGroup,     // graph of a fused group, or of its gradient; slot
  kTrace,     // graph that is being traced; value
};

}  // namespace uh::events
