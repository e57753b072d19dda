// Folds of many elements into one: the loops of every reduction, as templates.
//
// A reduction is an operation (Sum, Max...) over mapped elements (unchanged, absolute, squared).
// Only *_loops.cpp files include this; each has its own table of folds.
#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "backend/cpu/reduce_loops.h"

namespace uh::UH_ISA {
namespace {

// Signed overflow is undefined in C++ and wraps in PyTorch: integers are added as unsigned.
template <class T>
struct Wrapping {
  using type = T;
};
template <>
struct Wrapping<int64_t> {
  using type = uint64_t;
};

struct Sum {
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class T>
  static T apply(T a, T b) {
    using W = typename Wrapping<T>::type;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
};

struct Prod {
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  template <class T>
  static T apply(T a, T b) {
    using W = typename Wrapping<T>::type;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
};

// A NaN stays, as nothing compares greater. `x != x` is false for integers. Two selections:
// compilers vectorise each, but a combined condition only in rows.
struct Max {
  template <class T>
  static constexpr T identity() {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::lowest();
  }
  template <class T>
  static bool better(T x, T best) {
    return x > best;
  }
  template <class T>
  static T apply(T a, T b) {
    const T larger = b > a ? b : a;
    return b != b ? b : larger;
  }
};

struct Min {
  template <class T>
  static constexpr T identity() {
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::max();
  }
  template <class T>
  static bool better(T x, T best) {
    return x < best;
  }
  template <class T>
  static T apply(T a, T b) {
    const T smaller = b < a ? b : a;
    return b != b ? b : smaller;
  }
};

// True if an element may be folded twice.
template <class Op>
inline constexpr bool is_idempotent = std::is_same_v<Op, Max> || std::is_same_v<Op, Min>;

// Maps an element before it is folded. `Lane` is the type in which a block is folded.
template <class T>
struct AsIs {
  using Element = T;
  using Lane = T;
  static Lane apply(T x) { return x; }
};

constexpr int64_t kLanes = 64;
constexpr int64_t kFewElements = 16;  // fewer are folded one by one
constexpr int64_t kBlock = 4096;      // elements folded in Lane before they go to the accumulator

// Folds n values, a power of two, by halves. Recursion with constant sizes keeps the values in
// registers.
template <class Op, int64_t n, class Acc>
inline Acc fold_halves(const Acc* values) {
  if constexpr (n == 1) {
    return values[0];
  } else {
    Acc half[n / 2];
    for (int64_t l = 0; l < n / 2; ++l)
      half[l] = Op::template apply<Acc>(values[l], values[l + n / 2]);
    return fold_halves<Op, n / 2>(half);
  }
}

// Sets the lanes to the first elements of x and returns their number, which makes that of the
// others a multiple of kLanes: at the end, such a step would keep the lanes in memory instead of
// registers. Lanes without an element get the identity.
template <class Op, class Map>
inline int64_t first_lanes(typename Map::Lane* lane, const typename Map::Element* x, int64_t n) {
  using Element = typename Map::Element;
  using Lane = typename Map::Lane;
  const int first = static_cast<int>((n - 1) % kLanes) + 1;
  if (is_idempotent<Op> && n >= kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lane[l] = Map::apply(x[l]);
    return first;
  }
  if constexpr (sizeof(Element) >= 4) {  // there are masked loads
    for (int l = 0; l < static_cast<int>(kLanes); ++l)
      lane[l] = l < first ? Map::apply(x[l]) : Op::template identity<Lane>();
  } else if (first == kLanes && n > kLanes) {
    // Lanes that are only copied would be stored, and loaded again in pieces of another size.
    for (int64_t l = 0; l < kLanes; ++l)
      lane[l] = Op::apply(Map::apply(x[l]), Map::apply(x[l + kLanes]));
    return 2 * kLanes;
  } else if (first == kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lane[l] = Map::apply(x[l]);
  } else {  // copied to where all lanes can be loaded
    Element padded[kLanes] = {};
    std::memcpy(padded, x, static_cast<size_t>(first) * sizeof *x);
    for (int l = 0; l < static_cast<int>(kLanes); ++l)
      lane[l] = l < first ? Map::apply(padded[l]) : Op::template identity<Lane>();
  }
  return first;
}

// Returns x[0] op ... op x[n-1] for n > 0.
template <class Op, class Map, class Acc>
inline Acc fold_block(const typename Map::Element* x, int64_t n) {
  using Lane = typename Map::Lane;
  Lane lane[kLanes];
  for (int64_t i = first_lanes<Op, Map>(lane, x, n); i < n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lane[l] = Op::apply(lane[l], Map::apply(x[i + l]));
  }
  Acc wide[kLanes / 2];
  for (int64_t l = 0; l < kLanes / 2; ++l) {
    wide[l] =
        Op::template apply<Acc>(static_cast<Acc>(lane[l]), static_cast<Acc>(lane[l + kLanes / 2]));
  }
  return fold_halves<Op, kLanes / 2>(wide);
}

template <class Op, class Map, class Acc>
void run(void* acc_, const void* x_, int64_t n) {
  using Lane = typename Map::Lane;
  auto acc = *static_cast<Acc*>(acc_);
  const auto* x = static_cast<const typename Map::Element*>(x_);
  int64_t i = 0;
  while (n - i >= kFewElements) {
    const int64_t m = n - i < kBlock + kLanes ? n - i : kBlock;  // avoids a short last block
    acc = Op::template apply<Acc>(acc, fold_block<Op, Map, Acc>(x + i, m));
    i += m;
  }
  for (; i < n; ++i) {
    const Lane value = Map::apply(x[i]);
    acc = Op::template apply<Acc>(acc, static_cast<Acc>(value));
  }
  *static_cast<Acc*>(acc_) = acc;
}

template <class Op, class Map, class Acc>
void columns(void* acc_, const void* x_, int64_t stride, int64_t rows, int64_t n) {
  using T = typename Map::Element;
  using Lane = typename Map::Lane;
  auto* __restrict acc = static_cast<Acc*>(acc_);
  const auto* __restrict x = static_cast<const T*>(x_);
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8, x += 8 * stride) {
    const T *x0 = x, *x1 = x + stride, *x2 = x + 2 * stride, *x3 = x + 3 * stride;
    const T *x4 = x + 4 * stride, *x5 = x + 5 * stride, *x6 = x + 6 * stride, *x7 = x + 7 * stride;
    for (int64_t j = 0; j < n; ++j) {
      const Lane a = Op::apply(Op::apply(Map::apply(x0[j]), Map::apply(x1[j])),
                               Op::apply(Map::apply(x2[j]), Map::apply(x3[j])));
      const Lane b = Op::apply(Op::apply(Map::apply(x4[j]), Map::apply(x5[j])),
                               Op::apply(Map::apply(x6[j]), Map::apply(x7[j])));
      acc[j] = Op::template apply<Acc>(acc[j], static_cast<Acc>(Op::apply(a, b)));
    }
  }
  for (; r < rows; ++r, x += stride) {
    for (int64_t j = 0; j < n; ++j) {
      const Lane value = Map::apply(x[j]);
      acc[j] = Op::template apply<Acc>(acc[j], static_cast<Acc>(value));
    }
  }
}

template <class Op, class Acc>
void merge(void* acc_, const void* other_, int64_t n) {
  auto* acc = static_cast<Acc*>(acc_);
  const auto* other = static_cast<const Acc*>(other_);
  for (int64_t j = 0; j < n; ++j) acc[j] = Op::template apply<Acc>(acc[j], other[j]);
}

template <class Op, class Acc>
void identity(void* acc_, int64_t n) {
  auto* acc = static_cast<Acc*>(acc_);
  for (int64_t j = 0; j < n; ++j) acc[j] = Op::template identity<Acc>();
}

template <class Op, class Map, class Acc>
Fold make_fold() {
  return {dtype_of<Acc>::value,  sizeof(Acc),    run<Op, Map, Acc>,
          columns<Op, Map, Acc>, merge<Op, Acc>, identity<Op, Acc>};
}

}  // namespace
}  // namespace uh::UH_ISA
