#include "backend/cpu/sort_loops.h"

#include "backend/cpu/sort_keys.h"

namespace uh::UH_ISA {
namespace {

template <class T, bool kDescending>
int64_t first_better(const T* x, int64_t from, int64_t n, SortKey<T> threshold) {
  using Key = SortKey<T>;
  for (; from < n; from += SortLoops::kBlock) {
    Key any = 0;
    if (n - from >= SortLoops::kBlock) {
      for (int64_t j = 0; j < SortLoops::kBlock; ++j)
        any |= Key(sort_key(x[from + j], kDescending) < threshold);
    } else {
      for (int64_t j = from; j < n; ++j) any |= Key(sort_key(x[j], kDescending) < threshold);
    }
    if (any) return from;
  }
  return n;
}

template <class T>
int64_t better(const void* line, int64_t from, int64_t n, uint64_t threshold, bool descending) {
  const auto* x = static_cast<const T*>(line);
  const auto key = static_cast<SortKey<T>>(threshold);
  return descending ? first_better<T, true>(x, from, n, key)
                    : first_better<T, false>(x, from, n, key);
}

template <class T, bool kDescending>
void fold_minima(SortKey<T>* __restrict keys, const T* __restrict x, int64_t n, int64_t m) {
  for (int64_t j = 0; j < m; ++j) keys[j] = sort_key(x[j], kDescending);
  for (int64_t i = m; i < n; i += m) {
    const int64_t remainder = n - i < m ? n - i : m;
    for (int64_t j = 0; j < remainder; ++j) {
      const SortKey<T> key = sort_key(x[i + j], kDescending);
      keys[j] = key < keys[j] ? key : keys[j];
    }
  }
}

template <class T>
void minima(void* keys, const void* line, int64_t n, int64_t m, bool descending) {
  auto* match = static_cast<SortKey<T>*>(keys);
  const auto* x = static_cast<const T*>(line);
  descending ? fold_minima<T, true>(match, x, n, m) : fold_minima<T, false>(match, x, n, m);
}

SortLoops make() {
  SortLoops loops{};
#define UH_ENTRY(name, type, ...)                                                                  \
  loops.better[static_cast<int>(DType::name)] = better<type>;                                      \
  loops.minima[static_cast<int>(DType::name)] = minima<type>;
  UH_REAL_DTYPES(UH_ENTRY)
#undef UH_ENTRY
  return loops;
}

}  // namespace

const SortLoops& sort_loops() {
  static const SortLoops loops = make();
  return loops;
}

}  // namespace uh::UH_ISA
