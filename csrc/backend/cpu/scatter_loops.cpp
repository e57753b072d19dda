#include "backend/cpu/scatter_loops.h"

namespace uh::UH_ISA {
namespace {

struct Bytes16 {
  uint64_t low, high;
};

struct Sum {
  template <class T>
  static T apply(T element, T value) {
    if constexpr (std::is_same_v<T, bool>)
      return element || value;
    else
      return element + value;
  }
};

struct Prod {
  template <class T>
  static T apply(T element, T value) {
    if constexpr (std::is_same_v<T, bool>)
      return element && value;
    else
      return element * value;
  }
};

// A NaN stays, and replaces a number.
struct Max {
  template <class T>
  static T apply(T element, T value) {
    return value > element || value != value ? value : element;
  }
};

struct Min {
  template <class T>
  static T apply(T element, T value) {
    return value < element || value != value ? value : element;
  }
};

// The type in which an operation is computed: comparisons must not turn integers into unsigned.
template <class T, class Op>
using Computed = std::conditional_t<
    std::is_integral_v<T> && (std::is_same_v<Op, Max> || std::is_same_v<Op, Min>), T, SumOf<T>>;

// Calls combine(element of the table, value) for each position.
template <class T, class F>
[[gnu::always_inline]] inline void for_row(void* table_, int64_t table_step, const void* dense_,
                                           int64_t dense_step, const IndexRow& row,
                                           const F& combine) {
  auto* table = static_cast<T*>(table_);
  const auto* dense = static_cast<const T*>(dense_);
  const int64_t n = row.n, step = row.index_step, along = row.along;
  const int64_t* const index = row.index;
  if (step == 0) {  // one slice: a plain loop
    table += *index * along;
    if (dense_step == 1 && table_step == 1) {
      for (int64_t j = 0; j < n; ++j) combine(table[j], dense[j]);
    } else {
      for (int64_t j = 0; j < n; ++j) combine(table[j * table_step], dense[j * dense_step]);
    }
  } else if (step == 1 && along == 1 && table_step == 0) {
    for (int64_t j = 0; j < n; ++j) combine(table[index[j]], dense[j * dense_step]);
  } else {
    for (int64_t j = 0; j < n; ++j)
      combine(table[j * table_step + index[j * step] * along], dense[j * dense_step]);
  }
}

template <class T>
void assign(void* table, int64_t table_step, const void* dense, int64_t dense_step,
            const IndexRow& row) {
  for_row<T>(table, table_step, dense, dense_step, row,
             [](T& element, T value) { element = value; });
}

template <class Op, class T>
void fold_row(void* table, int64_t table_step, const void* dense, int64_t dense_step,
              const IndexRow& row, const void* scale_) {
  using C = Computed<T, Op>;
  if (!scale_) {
    return for_row<T>(table, table_step, dense, dense_step, row, [](T& element, T value) {
      element = static_cast<T>(Op::apply(static_cast<C>(element), static_cast<C>(value)));
    });
  }
  const C scale = *static_cast<const C*>(scale_);
  for_row<T>(table, table_step, dense, dense_step, row, [scale](T& element, T value) {
    element = static_cast<T>(
        Op::apply(static_cast<C>(element), Prod::apply(static_cast<C>(value), scale)));
  });
}

// A row of 16-bit floats in one slice is folded in tiles of floats: the compiler does not vectorise
// its conversions.
template <class Op, class T>
void fold_small(void* table_, int64_t table_step, const void* dense_, int64_t dense_step,
                const IndexRow& row, const void* scale_) {
  if (row.index_step != 0 || table_step != 1 || dense_step != 1)
    return fold_row<Op, T>(table_, table_step, dense_, dense_step, row, scale_);
  constexpr auto kFloat = static_cast<int>(DType::kFloat32);
  constexpr auto kSmall = static_cast<int>(dtype_of<T>::value);
  constexpr int64_t kTile = 512;
  const CopyLoops::Cast widen = copy_loops().cast[kFloat][kSmall];
  const CopyLoops::Cast narrow = copy_loops().cast[kSmall][kFloat];
  auto* table = static_cast<T*>(table_) + *row.index * row.along;
  const auto* dense = static_cast<const T*>(dense_);
  const float scale = scale_ ? *static_cast<const float*>(scale_) : 1.0f;
  alignas(64) float elements[kTile], values[kTile];
  for (int64_t first = 0; first < row.n; first += kTile) {
    const int64_t n = row.n - first < kTile ? row.n - first : kTile;
    widen(elements, table + first, n);
    widen(values, dense + first, n);
    for (int64_t j = 0; j < n; ++j) elements[j] = Op::apply(elements[j], values[j] * scale);
    narrow(table + first, elements, n);
  }
}

template <class T>
void enter(ScatterLoops& loops) {
  constexpr auto kDType = static_cast<int>(dtype_of<T>::value);
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    loops.sum[kDType] = fold_small<Sum, T>;
    loops.prod[kDType] = fold_small<Prod, T>;
    loops.max[kDType] = fold_small<Max, T>;
    loops.min[kDType] = fold_small<Min, T>;
  } else {
    loops.sum[kDType] = fold_row<Sum, T>;
    loops.prod[kDType] = fold_row<Prod, T>;
    if constexpr (!is_complex_v<T>) {
      loops.max[kDType] = fold_row<Max, T>;
      loops.min[kDType] = fold_row<Min, T>;
    }
  }
}

template <class... T>
ScatterLoops make() {
  ScatterLoops loops = {
      {assign<uint8_t>, assign<uint16_t>, assign<uint32_t>, assign<uint64_t>, assign<Bytes16>},
      {},
      {},
      {},
      {}};
  (enter<T>(loops), ...);
  return loops;
}

}  // namespace

const ScatterLoops& scatter_loops() {
  static const ScatterLoops loops = make<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half,
                                         BFloat16, float, double, Complex64, Complex128>();
  return loops;
}

}  // namespace uh::UH_ISA
