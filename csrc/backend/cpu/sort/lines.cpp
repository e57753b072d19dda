#include "backend/cpu/sort/lines.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "backend/cpu/sort_keys.h"
#include "backend/cpu/sort_loops.h"
#include "base/parallel.h"

namespace uh {
namespace {

// A key and its index in one word: the usual case, keys of up to 32 bits.
struct Packed {
  using Key = uint32_t;
  uint64_t word;
  Packed() = default;
  Packed(Key key, int64_t index) : word(uint64_t{key} << 32 | static_cast<uint64_t>(index)) {}
  Key key() const { return static_cast<Key>(word >> 32); }
  int64_t index() const { return static_cast<int64_t>(word & 0xffffffffu); }
  bool operator<(Packed other) const { return word < other.word; }
};

// The same for 64-bit keys, and for lines too long for 32-bit indices.
struct Pair {
  using Key = uint64_t;
  uint64_t bits;
  int64_t at;
  Pair() = default;
  Pair(Key key, int64_t index) : bits(key), at(index) {}
  Key key() const { return bits; }
  int64_t index() const { return at; }
  bool operator<(Pair other) const {
    return bits != other.bits ? bits < other.bits : at < other.at;
  }
};

// Radix-sorts n items by the low kKeyBits of their keys, kDigit bits at a time; `spare` has room
// for n items. Returns the sorted buffer. Skips digits that all keys share.
template <int kDigit, int kKeyBits, class Item>
Item* sort_by_digits(Item* items, Item* spare, int64_t n) {
  constexpr int kPasses = (kKeyBits + kDigit - 1) / kDigit;
  constexpr int64_t kBuckets = int64_t{1} << kDigit;
  constexpr uint64_t kMask = kBuckets - 1;
  using Count = uint32_t;
  static_assert(kPasses <= 8);
  Count counts[kPasses * kBuckets] = {};
  for (int64_t i = 0; i < n; ++i) {
    const auto key = static_cast<uint64_t>(items[i].key());
    for (int p = 0; p < kPasses; ++p) ++counts[p * kBuckets + ((key >> (p * kDigit)) & kMask)];
  }
  for (int p = 0; p < kPasses; ++p) {
    Count* count = counts + p * kBuckets;
    const int shift = p * kDigit;
    const uint64_t first = (static_cast<uint64_t>(items[0].key()) >> shift) & kMask;
    if (count[first] == static_cast<Count>(n)) continue;
    Count start = 0;
    for (int64_t b = 0; b < kBuckets; ++b) start += std::exchange(count[b], start);
    for (int64_t i = 0; i < n; ++i) {
      const Item item = items[i];
      spare[count[(static_cast<uint64_t>(item.key()) >> shift) & kMask]++] = item;
    }
    std::swap(items, spare);
  }
  return items;
}

// The same for a long line, in parts of equal length on several threads: a part's elements of a
// digit follow those of the parts before it, so that the order does not depend on their number.
template <int kDigit, int kKeyBits, class Item>
Item* sort_by_digits_in_parts(Item* items, Item* spare, int64_t n, int64_t parts) {
  constexpr int64_t kBuckets = int64_t{1} << kDigit;
  constexpr uint64_t kMask = kBuckets - 1;
  using Counts = std::array<uint32_t, kBuckets>;
  std::vector<Counts> counts(static_cast<size_t>(parts));
  const int64_t length = (n + parts - 1) / parts;
  const auto each_part = [&](const auto& body) {
    parallel_for(0, parts, 1, [&](int64_t lo, int64_t hi) {
      for (int64_t part = lo; part < hi; ++part)
        body(counts[static_cast<size_t>(part)].data(), part * length,
             std::min(n, (part + 1) * length));
    });
  };
  for (int shift = 0; shift < kKeyBits; shift += kDigit) {
    const auto digit = [shift](const Item& item) {
      return (static_cast<uint64_t>(item.key()) >> shift) & kMask;
    };
    each_part([&](uint32_t* count, int64_t lo, int64_t hi) {
      std::fill_n(count, kBuckets, 0);
      for (int64_t i = lo; i < hi; ++i) ++count[digit(items[i])];
    });
    uint32_t start = 0;
    bool shared = false;  // by all keys
    for (size_t b = 0; b < kBuckets; ++b) {
      const uint32_t before = start;
      for (Counts& count : counts) start += std::exchange(count[b], start);
      shared |= start - before == static_cast<uint32_t>(n);
    }
    if (shared) continue;
    each_part([&](uint32_t* next, int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        const Item item = items[i];
        spare[next[digit(item)]++] = item;
      }
    });
    std::swap(items, spare);
  }
  return items;
}

constexpr int64_t kMaxCounted = int64_t{1} << 31;  // limit of a 32-bit count
constexpr int64_t kWorthThread = 16384;            // elements of a line

template <int kKeyBits, class Item>
Item* sorted(Item* items, Item* spare, int64_t n) {
  // Measured on random lines: a comparison sort guesses most of its branches wrong.
  constexpr int64_t kShort = kKeyBits > 32 ? 72 : kKeyBits > 16 ? 32 : kKeyBits > 8 ? 20 : 12;
  if (n <= kShort || n >= kMaxCounted) {
    std::sort(items, items + n);
    return items;
  }
  constexpr int kLongDigit = kKeyBits > 16 ? 11 : 8;
  if (const int64_t parts = ranges_of(n, kWorthThread); parts > 1)
    return sort_by_digits_in_parts<kLongDigit, kKeyBits>(items, spare, n, parts);
  if (n > 8192) return sort_by_digits<kLongDigit, kKeyBits>(items, spare, n);
  return sort_by_digits<8, kKeyBits>(items, spare, n);
}

template <class T, class Item>
void write(T* values, int64_t* index, const Item* items, int64_t n, const T* line) {
  for (int64_t i = 0; i < n; ++i) index[i] = items[i].index();
  if (!values) return;
  for (int64_t i = 0; i < n; ++i) values[i] = line[items[i].index()];
}

// Sorts all items. `ret_exact`: keys determine their elements.
template <class T, class Item>
Item* sorted_items(const T* line, int64_t n, bool descending, SortScratch& scratch,
                   bool* ret_exact) {
  using Key = typename Item::Key;
  Item* items = scratch.room<Item>(2 * n);
  std::atomic<bool> all_in_order = true, all_exact = true;
  parallel_for(0, n, kWorthThread, [&](int64_t lo, int64_t hi) {
    bool in_order = true, exact = true;
    SortKey<T> last = lo > 0 ? sort_key(line[lo - 1], descending) : 0;
    for (int64_t i = lo; i < hi; ++i) {
      const SortKey<T> key = sort_key(line[i], descending);
      in_order &= last <= key;
      exact &= key_is_exact(line[i]);
      last = key;
      items[i] = Item(static_cast<Key>(key), i);
    }
    if (!in_order) all_in_order = false;
    if (!exact) all_exact = false;
  });
  *ret_exact = all_exact;
  return all_in_order ? items : sorted<8 * sizeof(T)>(items, items + n, n);
}

template <class T, class Item>
void sort_items(T* values, int64_t* index, const T* line, int64_t n, bool descending,
                SortScratch& scratch) {
  bool exact = true;
  const Item* items = sorted_items<T, Item>(line, n, descending, scratch, &exact);
  parallel_for(0, n, kWorthThread, [&](int64_t lo, int64_t hi) {
    T* const to = values ? values + lo : nullptr;
    if (!to || !exact || n < 4096) return write(to, index + lo, items + lo, hi - lo, line);
    // Reading the line in sorted order would be a random access per element.
    for (int64_t i = lo; i < hi; ++i) {
      index[i] = items[i].index();
      values[i] = from_sort_key<T>(static_cast<SortKey<T>>(items[i].key()), descending);
    }
  });
}

// Returns an upper bound that at least k keys do not exceed, and few more: the k-th smallest of the
// minima of many interleaved parts. nullopt if that would not pay.
template <class T>
std::optional<SortKey<T>> bound_of(const T* line, int64_t n, int64_t k, bool descending) {
  constexpr int64_t kMaxMinima = 1024;
  const int64_t hands = std::max<int64_t>(64, 4 * ((k + 15) / 16 * 16));
  if (hands > kMaxMinima || n < 4 * hands) return std::nullopt;
  SortKey<T> best[kMaxMinima];
  sort_loops().minima[static_cast<int>(dtype_of<T>::value)](best, line, n, hands, descending);
  std::nth_element(best, best + (k - 1), best + hands);
  const SortKey<T> bound = best[k - 1];
  if (bound == static_cast<SortKey<T>>(~SortKey<T>(0))) return std::nullopt;
  return bound;
}

// Returns the first k items in order; of equal ones, the first in the line.
template <class T, class Item>
Item* select_items(const T* line, int64_t n, int64_t k, bool descending, SortScratch& scratch) {
  using Key = typename Item::Key;
  const auto item = [&](int64_t i) {
    return Item(static_cast<Key>(sort_key(line[i], descending)), i);
  };
  constexpr int64_t kBlock = SortLoops::kBlock;
  // Up to `limit` candidates are collected before all but the best k are dropped.
  const int64_t limit = std::min(n, std::max<int64_t>(2 * k, k + 64));
  Item* selected = scratch.room<Item>(limit + kBlock);
  const std::optional<SortKey<T>> bound = bound_of(line, n, k, descending);
  int64_t count = 0, begin = 0;
  uint64_t threshold = 0;
  if (bound) {
    threshold = uint64_t{*bound} + 1;
  } else {
    for (int64_t i = 0; i < limit; ++i) selected[i] = item(i);
    std::nth_element(selected, selected + (k - 1), selected + limit);
    threshold = static_cast<uint64_t>(selected[k - 1].key());
    count = k;
    begin = limit;
  }
  const auto better = sort_loops().better[static_cast<int>(dtype_of<T>::value)];
  for (int64_t i = begin; i < n;) {
    i = better(line, i, n, threshold, descending);
    const int64_t end = std::min(n, i + kBlock);
    for (; i < end; ++i) {
      selected[count] = item(i);
      count += static_cast<uint64_t>(selected[count].key()) < threshold;
    }
    if (count < limit) continue;
    std::nth_element(selected, selected + (k - 1), selected + count);
    threshold = static_cast<uint64_t>(selected[k - 1].key());
    count = k;
  }
  std::nth_element(selected, selected + (k - 1), selected + count);
  std::sort(selected, selected + k);
  return selected;
}

// PyTorch's topk calls these algorithms of the standard library; the order of equal elements
// follows from them. Few of many: what std::partial_sort does, but blocks without a better element
// than the worst selected one are skipped by a vector loop.
bool is_partial_sort(int64_t n, int64_t k) { return k * 64 <= n; }

template <class Item>
bool better_item(const Item& a, const Item& b) {
  return a.key() < b.key();
}

template <class T, class Item>
Item* partially_sorted(const T* line, int64_t n, int64_t k, bool descending, SortScratch& scratch) {
  Item* const heap = scratch.room<Item>(k + 1);
  const auto item = [&](int64_t i) {
    return Item(static_cast<typename Item::Key>(sort_key(line[i], descending)), i);
  };
  for (int64_t i = 0; i < k; ++i) heap[i] = item(i);
  std::make_heap(heap, heap + k, better_item<Item>);
  const auto next_better = sort_loops().better[static_cast<int>(dtype_of<T>::value)];
  for (int64_t i = k; i < n;) {
    i = next_better(line, i, n, static_cast<uint64_t>(heap[0].key()), descending);
    const int64_t end = std::min(n, i + SortLoops::kBlock);
    for (; i < end; ++i) {
      heap[k] = item(i);
      if (better_item(heap[k], heap[0])) std::pop_heap(heap, heap + k + 1, better_item<Item>);
    }
  }
  std::sort_heap(heap, heap + k, better_item<Item>);
  return heap;
}

template <class Item>
void select_nth(Item* items, int64_t n, int64_t k, bool in_order) {
  std::nth_element(items, items + (k - 1), items + n, better_item<Item>);
  if (in_order) std::sort(items, items + (k - 1), better_item<Item>);
}

template <class T, class F>
void with_item(int64_t n, const F& f) {
  if constexpr (sizeof(T) <= 4) {
    if (n <= int64_t{0xffffffff}) return f(Packed());
  }
  f(Pair());
}

}  // namespace

void sort_line(DType dtype, void* values, int64_t* index, const void* line, int64_t n,
               bool descending, SortScratch& scratch) {
  if (n == 0) return;
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    with_item<T>(n, [&](auto item) {
      sort_items<T, decltype(item)>(static_cast<T*>(values), index, static_cast<const T*>(line), n,
                                    descending, scratch);
    });
  });
}

void select_line(DType dtype, void* values, int64_t* index, const void* line, int64_t n, int64_t k,
                 bool descending, bool in_order, SortScratch& scratch) {
  if (k == 0) return;
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    with_item<T>(n, [&](auto item) {
      using Item = decltype(item);
      const auto* x = static_cast<const T*>(line);
      Item* items = nullptr;
      const bool partial = is_partial_sort(n, k);
      // In a short line nearly every block has an element that enters the heap.
      const bool distinct = sizeof(T) >= 4 && !std::is_integral_v<T> && n < 256 * k;
      if (partial ? distinct : in_order) {  // a faster algorithm, unless elements are equal
        const int64_t compared =
            std::min(n, k + 1);  // one more: is the last selected the only one?
        bool exact = true;
        items = k <= n / 4 ? select_items<T, Item>(x, n, compared, descending, scratch)
                           : sorted_items<T, Item>(x, n, descending, scratch, &exact);
        const auto equal = [](const Item& a, const Item& b) { return a.key() == b.key(); };
        if (std::adjacent_find(items, items + compared, equal) != items + compared) items = nullptr;
      }
      if (!items && partial) items = partially_sorted<T, Item>(x, n, k, descending, scratch);
      if (!items) {
        items = scratch.room<Item>(n);
        for (int64_t i = 0; i < n; ++i)
          items[i] = Item(static_cast<typename Item::Key>(sort_key(x[i], descending)), i);
        select_nth(items, n, k, in_order);
      }
      write(static_cast<T*>(values), index, items, k, x);
    });
  });
}

}  // namespace uh
