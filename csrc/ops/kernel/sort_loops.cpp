#include "ops/kernel/sort_loops.h"

#include "ops/kernel/sort_keys.h"

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

SortLoops make() {
  SortLoops loops{};
#define UH_ENTRY(name, type, text, title)                                                          \
  loops.better[static_cast<int>(DType::name)] = better<type>;
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
