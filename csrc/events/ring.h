// Layout of the ring that the recorded process and the writer process share.
//
//   header (4096 bytes) | capacity_records * 64 bytes of records | capacity_blob bytes of blobs
//
// Record n lives in slot n % capacity_records. A blob at absolute position p lives at
// p % capacity_blob: 8 bytes of length, the bytes, padding to 8; it never wraps round the end.
// engine/inspect/ring.py is the other side.
#pragma once

#include <atomic>
#include <cstdint>

namespace uh::events {

inline constexpr uint64_t kRingMagic = 0x0031474e49524855ull;  // "UHRING1\0"
inline constexpr uint64_t kHeaderBytes = 4096;

struct RingHeader {
  using Plain = uint64_t;
  using Shared = std::atomic<uint64_t>;
#define UH_RING_FIELD(type, name) type name;
#include "events/ring_header.inc"
#undef UH_RING_FIELD
};
static_assert(sizeof(RingHeader) <= kHeaderBytes / 2);  // the other half: the writer's last words

// Why the program stopped recording before its own end.
enum class RingEnd : uint64_t { kNone, kWriterDead, kWriterSilent };

// The header of the ring that is open, or else was open last; NULL when none ever was.
RingHeader* ring_header();

// Gives the memory of the closed ring back to the system. To be called once its writer has ended.
void release_ring();

}  // namespace uh::events
