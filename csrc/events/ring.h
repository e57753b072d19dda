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
  uint64_t magic;
  uint64_t capacity_records;   // a power of two
  uint64_t capacity_blob;      // bytes, a power of two
  std::atomic<uint64_t> head;  // records committed by the program
  std::atomic<uint64_t> tail;  // records consumed by the writer
  std::atomic<uint64_t> blob_head;
  std::atomic<uint64_t> blob_tail;
  std::atomic<uint64_t> heartbeat_ns;  // set by the writer, CLOCK_MONOTONIC
  std::atomic<uint64_t> producer_pid;
  std::atomic<uint64_t> writer_pid;
  std::atomic<uint64_t> state;      // 1 recording, 2 closed by the program
  std::atomic<uint64_t> waited_ns;  // how long the program waited for room
  std::atomic<uint64_t> lost;  // not 0: events were dropped because the writer was gone or silent
  std::atomic<uint64_t> mode;  // kLines | kValues
  std::atomic<uint64_t> values_budget;
  std::atomic<uint64_t> end;  // RingEnd
};
static_assert(sizeof(RingHeader) <= kHeaderBytes / 2);  // the other half: the writer's last words

// Why the program stopped recording before its own end.
enum class RingEnd : uint64_t { kNone, kWriterDead, kWriterSilent };

// The header of the ring that is open, or else was open last; NULL when none ever was.
RingHeader* ring_header();

// Gives the memory of the closed ring back to the system. To be called once its writer has ended.
void release_ring();

}  // namespace uh::events
