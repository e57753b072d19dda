// Layout of the ring that the recorded process and the writer process share.
//
//   header (4096 bytes) | capacity_records * 64 bytes of records | capacity_blob bytes of blobs
//
// Records and blobs are in the windows of their areas: Note [Windows]. A blob is 8 bytes of length,
// the bytes, padding to 8; it never wraps around the end of its window.
//
// Note [Windows]: memory that is written for the first time costs a page fault, and memory that was
// read long ago a cache miss. So only the beginning of an area is in use, its window. A program
// that is faster than the writer waits for it, which costs it no processor time; where the writer
// gives no sign of life for 0.2 s (it has no processor, say), the window grows. Position p (a
// record's number; a blob's byte) is at (p - base) % size in the window. It grows when the unread
// part is contiguous: from the window's first byte, at position p, to its end. Then base becomes p
// - size, so that nothing moves, and size a larger power of two. The header has both in one word,
// base | log2(size), and 0 for the whole area. It is written before the head, so a reader that
// reads the head first gets a window that contains everything before it.
//
// engine/inspect/ring.py is the other side.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace uh::events {

#define UH_RING_NUMBER(constant, name, value) inline constexpr uint64_t constant = value;
#include "events/ring_header.inc"

struct RingHeader {
  using Plain = uint64_t;
  using Shared = std::atomic<uint64_t>;
#define UH_RING_FIELD(type, name) type name;
#include "events/ring_header.inc"
};
static_assert(sizeof(RingHeader) <= kNoteStart && kNoteStart < kHeaderBytes);

enum class RingState : uint64_t {
#define UH_RING_STATE(enumerator, name, code) enumerator = code,
#include "events/ring_header.inc"
};

// Why the program stopped recording before its own end.
enum class RingEnd : uint64_t {
  kNone,
#define UH_RING_END(enumerator, name, code) enumerator = code,
#include "events/ring_header.inc"
};

struct Window {
  uint64_t base = 0, size = 0;

  Window() = default;
  Window(uint64_t word, uint64_t capacity)
      : base(word & ~uint64_t{63}), size(word ? uint64_t{1} << (word & 63) : capacity) {}
  uint64_t word() const { return base | static_cast<uint64_t>(std::countr_zero(size)); }
  uint64_t at(uint64_t position) const { return (position - base) & (size - 1); }
  // `position` is at the window's first byte, and the unread part is within `size` before it.
  void grow(uint64_t position, uint64_t bigger) {
    base = position - size;
    size = bigger;
  }
};
inline constexpr uint64_t kMinWindow = 64;  // so that log2(size) has room in the base's word

// The header of the ring that is open, or else was open last; NULL when none ever was.
RingHeader* ring_header();

// Gives the memory of the closed ring back to the system. To be called once its writer has ended.
void release_ring();

}  // namespace uh::events
