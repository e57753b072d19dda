// Layout of the ring that the recorded process and the writer process share.
//
//   header (4096 bytes) | capacity_records * 64 bytes of records | capacity_blob bytes of blobs
//
// Records and blobs are in the windows of their areas: Note [Windows]. A blob is 8 bytes of length, the bytes,
// padding to 8; it never wraps round the end of its window.
//
// Note [Windows]: memory that is written for the first time costs a page fault, and memory that was read long ago
// a cache miss. So only the beginning of an area is in use, its window, until the writer is late; then the window
// grows. Position p (a record's number; a blob's byte) is at (p - base) % size in the window. It grows where
// what is not read yet is in order: from the window's first byte to its end, at position p. Then base becomes
// p - size, so that nothing moves, and size a larger power of two. The header has both in one word,
// base | log2(size), and 0 for the whole area. It is written before the head: what comes before a head that was
// read is in the window that is read after it.
// engine/inspect/ring.py is the other side.
#pragma once

#include <atomic>
#include <bit>
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

struct Window {
  uint64_t base = 0, size = 0;

  Window() = default;
  Window(uint64_t word, uint64_t capacity)
      : base(word & ~uint64_t{63}), size(word ? uint64_t{1} << (word & 63) : capacity) {}
  uint64_t word() const { return base | static_cast<uint64_t>(std::countr_zero(size)); }
  uint64_t at(uint64_t position) const { return (position - base) & (size - 1); }
  // `position` is at the window's first byte, and what is not read yet within `size` before it.
  void grow(uint64_t position, uint64_t bigger) {
    base = position - size;
    size = bigger;
  }
};
inline constexpr uint64_t kMinWindow = 64;  // so that log2(size) has room in the base's word

// Why the program stopped recording before its own end.
enum class RingEnd : uint64_t { kNone, kWriterDead, kWriterSilent };

// The header of the ring that is open, or else was open last; NULL when none ever was.
RingHeader* ring_header();

// Gives the memory of the closed ring back to the system. To be called once its writer has ended.
void release_ring();

}  // namespace uh::events
