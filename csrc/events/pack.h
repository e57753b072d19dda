// Takes records out of a ring and packs them for a trace file: the writer's side.
//
// Note [Packed records]: n records are a byte for each of nine columns, then planes of n bytes. The
// columns are kind, thread, flags, time and a to e. If bit k of a column's byte is set, plane k of
// that column follows: the k-th byte of each number. The other planes are zeros, and are left out.
// Kinds and threads are stored unchanged, times as differences from the previous record (0 for the
// first one). Flags and a to e are sorted by kind, in a stable sort, so that neighbours differ
// little. Of a to e the difference from the previous number is stored (the first from 0),
// zigzag-encoded: 0, -1, 1, -2 become 0, 1, 2, 3. Event numbers are consecutive, so they are not
// stored. engine/inspect/columns.py unpacks the records.
#pragma once

#include <cstddef>
#include <cstdint>

#include "events/record.h"
#include "events/ring.h"

namespace uh::events {

inline constexpr size_t kPackedColumns = 9;

// Returns the maximum size in bytes of `n` packed records.
constexpr size_t pack_room(size_t n) { return kPackedColumns + n * (sizeof(Record) - 8); }

// Returns how many bytes of `out` it used.
size_t pack_records(const Record* records, size_t n, std::byte* out);

struct RingMemory {
  std::byte* start;  // with the header
  uint64_t capacity_records, capacity_blob;
};

// The records collected for the next part of a trace, and their blobs, one after another. A record
// refers to its blob by its position in `blobs`.
struct Collected {
  Record* records;
  uint64_t n, room_records;
  std::byte* blobs;
  uint64_t bytes, room_blobs;
};

// Moves the oldest records from the ring to `to`, as many as fit, and frees their room in the ring.
// A blob that lies outside the ring, or is larger than all of `room_blobs`, is dropped: the program
// may have overwritten the ring.
void take_records(const RingMemory& ring, Collected& to);

}  // namespace uh::events
