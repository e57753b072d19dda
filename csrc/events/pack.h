// The writer's side: takes records out of a ring, and packs them for a trace file.
//
// Note [Packed records]: a byte for each of nine columns, then planes of n bytes. The columns are kind,
// thread, flags, time and a to e; bit k of a column's byte says that plane k, the k-th byte of its numbers,
// follows (the others are zeros). Kind and thread are as they are; a time is the difference from the one
// before, the first one 0. Flags and a to e are sorted by kind, stably: neighbours then differ little. Of a to
// e there are differences from the neighbour before (from 0 at first), zigzag: 0, -1, 1, -2 are 0, 1, 2, 3.
// Records follow each other, so their numbers are not stored. engine/inspect/columns.py unpacks them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "events/record.h"
#include "events/ring.h"

namespace uh::events {

inline constexpr size_t kPackedColumns = 9;

// The most bytes that `n` records are packed into.
constexpr size_t pack_room(size_t n) { return kPackedColumns + n * (sizeof(Record) - 8); }

// Returns how many bytes of `out` it used.
size_t pack_records(const Record* records, size_t n, std::byte* out);

struct RingMemory {
  std::byte* start;  // with the header
  uint64_t capacity_records, capacity_blob;
};

// A part of a trace that is being collected: the blobs one after the other, the records' references positions there.
struct Collected {
  Record* records;
  uint64_t n, room_records;
  std::byte* blobs;
  uint64_t bytes, room_blobs;
};

// Moves the oldest records to the collected ones, as many as there is room for, and frees their room in the ring. A
// reference that leads out of the ring, or to more than all of `room_blobs`, is dropped: the program may have
// written over the ring.
void take_records(const RingMemory& ring, Collected& to);

}  // namespace uh::events
