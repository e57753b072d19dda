#include "backend/cpu/index_loops.h"

#include <cstring>

namespace uh::UH_ISA {
namespace {

struct Bytes16 {
  uint64_t low, high;
};

constexpr int64_t kBlock = 512;  // indices checked before their elements are read

int64_t outside(const int64_t* index, int64_t n, int64_t lo, int64_t hi) {
  const auto span = static_cast<uint64_t>(hi - lo);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = n - i < kBlock ? n - i : kBlock;
    uint64_t bad = 0;
    for (int64_t j = 0; j < m; ++j) {
      bad |= static_cast<uint64_t>(
          static_cast<uint64_t>(index[i + j]) - static_cast<uint64_t>(lo) >= span);
    }
    if (!bad) continue;
    for (int64_t j = i;; ++j) {
      if (static_cast<uint64_t>(index[j]) - static_cast<uint64_t>(lo) >= span) return j;
    }
  }
  return n;
}

template <class T>
int64_t gather(void* dst_, int64_t dst_step, const void* table_, int64_t table_step,
               const IndexRow& row) {
  auto* __restrict dst = static_cast<T*>(dst_);
  const auto* __restrict table = static_cast<const T*>(table_);
  const int64_t n = row.n, step = row.index_step, along = row.along;
  const auto size = static_cast<uint64_t>(row.size);
  if (step == 0) {  // one index for the whole row
    if (n > 0 && static_cast<uint64_t>(*row.index) >= size) return 0;
    if (n > 0) table += *row.index * along;
    if (dst_step == 1 && table_step == 1) {
      std::memcpy(dst, table, static_cast<size_t>(n) * sizeof(T));
    } else {
      for (int64_t j = 0; j < n; ++j) dst[j * dst_step] = table[j * table_step];
    }
    return n;
  }
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = n - i < kBlock ? n - i : kBlock;
    const int64_t* __restrict index = row.index + i * step;
    uint64_t bad = 0;
    if (step == 1) {
      for (int64_t j = 0; j < m; ++j) bad |= static_cast<uint64_t>(index[j]) >= size;
    } else {
      for (int64_t j = 0; j < m; ++j) bad |= static_cast<uint64_t>(index[j * step]) >= size;
    }
    if (bad) {
      for (int64_t j = 0;; ++j) {
        if (static_cast<uint64_t>(index[j * step]) >= size) return i + j;
      }
    }
    T* __restrict to = dst + i * dst_step;
    const T* __restrict from = table + i * table_step;
    if (dst_step == 1 && step == 1 && table_step == 0 && along == 1) {
      // Prefetches the next block's indices and destination lines while this one is read: the
      // hardware prefetcher does not see across the two loops.
      int64_t j = 0;
      for (; j + 16 <= m; j += 16) {
        __builtin_prefetch(index + j + kBlock);
        __builtin_prefetch(index + j + kBlock + 8);
        __builtin_prefetch(to + j + kBlock, 1);
        for (int64_t l = j; l < j + 16; ++l) to[l] = from[index[l]];
      }
      for (; j < m; ++j) to[j] = from[index[j]];
    } else if (dst_step == 1 && step == 1) {
      for (int64_t j = 0; j < m; ++j) to[j] = from[j * table_step + index[j] * along];
    } else {
      for (int64_t j = 0; j < m; ++j)
        to[j * dst_step] = from[j * table_step + index[j * step] * along];
    }
  }
  return n;
}

// Rows are scattered over the table: prefetches those a few positions ahead.
void rows(void* dst_, const void* table_, int64_t table_bytes, const int64_t* index, int64_t n,
          int64_t bytes) {
  constexpr int64_t kAhead = 4, kLine = 64, kMaxPrefetched = 16 * kLine;
  auto* dst = static_cast<char*>(dst_);
  const auto* table = static_cast<const char*>(table_);
  const int64_t fetched = bytes < kMaxPrefetched ? bytes : kMaxPrefetched;
  for (int64_t i = 0; i < n; ++i) {
    if (i + kAhead < n) {
      const char* next = table + index[i + kAhead] * table_bytes;
      for (int64_t b = 0; b < fetched; b += kLine) __builtin_prefetch(next + b);
    }
    std::memcpy(dst + i * bytes, table + index[i] * table_bytes, static_cast<size_t>(bytes));
  }
}

IndexLoops make() {
  return {{gather<uint8_t>, gather<uint16_t>, gather<uint32_t>, gather<uint64_t>, gather<Bytes16>},
          rows,
          outside};
}

}  // namespace

const IndexLoops& index_loops() {
  static const IndexLoops loops = make();
  return loops;
}

}  // namespace uh::UH_ISA
