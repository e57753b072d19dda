#include "events/pack.h"

#include <array>
#include <cstring>
#include <vector>

#include "base/per_thread.h"

namespace uh::events {
namespace {

// What packing needs besides its result. It is kept for the next segment: touching new memory would
// take longer than packing.
struct Workspace {
  std::vector<uint64_t> columns;
  std::vector<uint32_t> next, order;
};

// Returns the indices of the records, sorted by kind; those of one kind remain in order.
const std::vector<uint32_t>& sorted_by_kind(const Record* records, size_t n, Workspace& space) {
  auto& [columns, next, order] = space;
  next.assign((1 << 16) + 1, 0);
  for (size_t i = 0; i < n; ++i) ++next[records[i].kind + 1];
  for (size_t kind = 1; kind < next.size(); ++kind) next[kind] += next[kind - 1];
  order.resize(n);
  for (size_t i = 0; i < n; ++i) order[next[records[i].kind]++] = static_cast<uint32_t>(i);
  return order;
}

uint64_t zigzag(int64_t number) {
  return static_cast<uint64_t>(number) << 1 ^ static_cast<uint64_t>(number >> 63);
}

uint64_t difference(int64_t number, int64_t before) {
  return zigzag(static_cast<int64_t>(static_cast<uint64_t>(number) - static_cast<uint64_t>(before)));
}

// Appends the planes of a column that are not zeros alone; returns which those are.
std::byte put_planes(const uint64_t* column, size_t n, std::byte*& out) {
  uint64_t any = 0;
  for (size_t i = 0; i < n; ++i) any |= column[i];
  uint8_t live = 0;
  for (int plane = 0; plane < 8; ++plane) {
    if ((any >> (8 * plane) & 255) == 0) continue;
    live |= static_cast<uint8_t>(1 << plane);
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(column[i] >> (8 * plane));
    out += n;
  }
  return std::byte{live};
}

// The window, or the whole area where the program has written over the header.
Window window_of(const std::atomic<uint64_t>& word, uint64_t capacity) {
  const Window window(word.load(std::memory_order_relaxed), capacity);
  return window.size <= capacity ? window : Window(0, capacity);
}

}  // namespace

size_t pack_records(const Record* records, size_t n, std::byte* out) {
  auto& space = per_thread<Workspace>();
  space.columns.resize(kPackedColumns * n);
  std::array<uint64_t*, kPackedColumns> columns;
  for (size_t k = 0; k < kPackedColumns; ++k) columns[k] = space.columns.data() + k * n;
  auto& [kind, thread, flags, time, a, b, c, d, e] = columns;
  uint64_t time_before = n ? records[0].time_ns : 0;
  for (size_t i = 0; i < n; ++i) {
    const Record& r = records[i];
    kind[i] = r.kind;
    thread[i] = r.thread;
    time[i] = r.time_ns - time_before;
    time_before = r.time_ns;
  }
  const Record zeros{};
  const Record* before = &zeros;
  size_t at = 0;
  for (const uint32_t i : sorted_by_kind(records, n, space)) {
    const Record& r = records[i];
    flags[at] = r.flags;
    a[at] = difference(r.a, before->a);
    b[at] = difference(r.b, before->b);
    c[at] = difference(r.c, before->c);
    d[at] = difference(r.d, before->d);
    e[at] = difference(r.e, before->e);
    before = &r;
    ++at;
  }
  std::byte* end = out + kPackedColumns;
  for (size_t k = 0; k < kPackedColumns; ++k) out[k] = put_planes(columns[k], n, end);
  return static_cast<size_t>(end - out);
}

void take_records(const RingMemory& ring, Collected& to) {
  auto& header = *reinterpret_cast<RingHeader*>(ring.start);
  const auto* records = reinterpret_cast<const Record*>(ring.start + kHeaderBytes);
  const auto* area = reinterpret_cast<const std::byte*>(records + ring.capacity_records);
  const uint64_t head = header.head.load(std::memory_order_acquire);
  const Window window = window_of(header.record_window, ring.capacity_records);
  const Window blob_window = window_of(header.blob_window, ring.capacity_blob);
  uint64_t tail = header.tail, blob_tail = header.blob_tail;
  for (; tail != head && to.n < to.room_records; ++tail) {
    Record r = records[window.at(tail)];
    if (r.flags & kHasBlob) {
      const auto start = static_cast<uint64_t>(r.e);
      const uint64_t left = blob_window.size - blob_window.at(start);
      const std::byte* from = area + blob_window.at(start);
      uint64_t length = left;
      if (left >= 8) std::memcpy(&length, from, 8);
      const uint64_t size = length < left ? 8 + ((length + 7) & ~uint64_t{7}) : left + 1;
      if (size > left || size > to.room_blobs) {
        r.flags = static_cast<uint16_t>(r.flags & ~kHasBlob);
        r.e = 0;
      } else if (size > to.room_blobs - to.bytes) {
        break;
      } else {
        r.e = static_cast<int64_t>(to.bytes);
        std::memcpy(to.blobs + to.bytes, from, size);
        to.bytes += size;
        blob_tail = start + size;
      }
    }
    to.records[to.n++] = r;
  }
  header.blob_tail.store(blob_tail, std::memory_order_release);
  header.tail.store(tail, std::memory_order_release);
}

}  // namespace uh::events
