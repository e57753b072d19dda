#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/scan_loops.h"

#include <cmath>

#include "backend/cpu/complex_math.h"
#include "backend/cpu/fold.h"

namespace uh::UH_ISA {
namespace {

constexpr int64_t kTile = 256;  // columns whose accumulators fit L1

// The type in which elements are accumulated.
template <class T>
struct Wide {
  using type = T;
};
template <>
struct Wide<float> {
  using type = double;
};
template <>
struct Wide<Complex64> {
  using type = Complex128;
};

template <class Op, class T>
void row(T* out, const T* x, int64_t n) {
  using Acc = typename Wide<T>::type;
  Acc acc = Op::template identity<Acc>();
  for (int64_t i = 0; i < n; ++i) {
    acc = Op::apply(acc, static_cast<Acc>(x[i]));
    out[i] = static_cast<T>(acc);
  }
}

// Four rows at once: additions depend on each other only within a row.
template <class Op, class T>
void four_rows(T* out, const T* x, int64_t n) {
  using Acc = typename Wide<T>::type;
  Acc acc[4];
  for (Acc& a : acc) a = Op::template identity<Acc>();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t r = 0; r < 4; ++r) {
      acc[r] = Op::apply(acc[r], static_cast<Acc>(x[r * n + i]));
      out[r * n + i] = static_cast<T>(acc[r]);
    }
  }
}

template <class Op, class T>
void rows(void* out_, const void* x_, int64_t count, int64_t n) {
  auto* out = static_cast<T*>(out_);
  const auto* x = static_cast<const T*>(x_);
  for (; count >= 4; count -= 4, out += 4 * n, x += 4 * n) four_rows<Op>(out, x, n);
  for (; count > 0; --count, out += n, x += n) row<Op>(out, x, n);
}

using Double4 = double __attribute__((vector_size(32)));
using Float4 = float __attribute__((vector_size(16)));
using Index4 = int64_t __attribute__((vector_size(32)));

// By reference: each instruction set would pass these types by value in other registers.
template <class Op>
inline void combine(Double4& a, const Double4& b) {
  if constexpr (std::is_same_v<Op, Prod>)
    a *= b;
  else
    a += b;
}

// GCC converts four floats in halves, and makes each iteration depend on the previous one.
inline void widen(Double4& wide, const Float4& x) {
#if defined(__AVX__) && !defined(__clang__)
  wide = __builtin_ia32_cvtps2pd256(x);
#else
  wide = __builtin_convertvector(x, Double4);
#endif
}

// Scans floats four at a time in double precision: within the four in two steps, then with the
// carry. A product of four floats cannot overflow a double.
template <class Op>
void float_rows(void* out_, const void* x_, int64_t count, int64_t n) {
  constexpr double kNone = Op::template identity<double>();
  constexpr Double4 kNothing = {kNone, kNone, kNone, kNone};
  auto* out = static_cast<float*>(out_);
  const auto* x = static_cast<const float*>(x_);
  for (; count > 0; --count, out += n, x += n) {
    Double4 before = kNothing;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
      Float4 loaded;
      __builtin_memcpy(&loaded, x + i, sizeof loaded);
      Double4 v;
      widen(v, loaded);
      combine<Op>(v, __builtin_shuffle(kNothing, v, Index4{0, 4, 5, 6}));
      combine<Op>(v, __builtin_shuffle(kNothing, v, Index4{0, 1, 4, 5}));
      Double4 all = before;
      combine<Op>(all, v);
      const Float4 result = __builtin_convertvector(all, Float4);
      __builtin_memcpy(out + i, &result, sizeof result);
      combine<Op>(before, __builtin_shuffle(v, Index4{3, 3, 3, 3}));
    }
    double acc = before[0];
    for (; i < n; ++i) {
      acc = Op::apply(acc, static_cast<double>(x[i]));
      out[i] = static_cast<float>(acc);
    }
  }
}

template <class Op, class T>
void columns(void* out_, const void* x_, int64_t stride, int64_t n, int64_t count) {
  using Acc = typename Wide<T>::type;
  for (int64_t j = 0; j < count; j += kTile) {
    const int64_t width = count - j < kTile ? count - j : kTile;
    auto* __restrict out = static_cast<T*>(out_) + j;
    const auto* __restrict x = static_cast<const T*>(x_) + j;
    Acc acc[kTile];
    for (int64_t l = 0; l < width; ++l) acc[l] = Op::template identity<Acc>();
    for (int64_t i = 0; i < n; ++i, out += stride, x += stride) {
      for (int64_t l = 0; l < width; ++l) {
        acc[l] = Op::apply(acc[l], static_cast<Acc>(x[l]));
        out[l] = static_cast<T>(acc[l]);
      }
    }
  }
}

// Sums from the end. Four rows at once, as above.
template <class T>
void reversed_rows(void* out_, const void* x_, int64_t count, int64_t n) {
  using Acc = typename Wide<T>::type;
  auto* out = static_cast<T*>(out_);
  const auto* x = static_cast<const T*>(x_);
  for (int64_t rows = 0; count > 0; count -= rows, out += rows * n, x += rows * n) {
    rows = count < 4 ? 1 : 4;
    Acc acc[4];
    for (Acc& a : acc) a = Sum::identity<Acc>();
    if (rows == 4) {
      for (int64_t i = n; i-- > 0;) {
        for (int64_t r = 0; r < 4; ++r) {
          acc[r] = Sum::apply(acc[r], static_cast<Acc>(x[r * n + i]));
          out[r * n + i] = static_cast<T>(acc[r]);
        }
      }
      continue;
    }
    for (int64_t i = n; i-- > 0;) {
      acc[0] = Sum::apply(acc[0], static_cast<Acc>(x[i]));
      out[i] = static_cast<T>(acc[0]);
    }
  }
}

template <class T>
void reversed_columns(void* out, const void* x, int64_t stride, int64_t n, int64_t count) {
  const int64_t last = (n - 1) * stride;
  columns<Sum, T>(static_cast<T*>(out) + last, static_cast<const T*>(x) + last, -stride, n, count);
}

// log(exp(a) + exp(b)) in double precision.
struct LogAdd {
  template <class T>
  static constexpr T identity() {
    if constexpr (is_complex_v<T>)
      return {-std::numeric_limits<double>::infinity(), 0};
    else
      return -std::numeric_limits<T>::infinity();
  }
  static Complex128 apply(Complex128 a, Complex128 b) {
    if (!(a == a) || !(b == b)) {
      constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
      return {kNan, kNan};
    }
    const Complex128 low = a.re < b.re ? a : b, high = a.re < b.re ? b : a;
    if (high.re == -std::numeric_limits<double>::infinity()) return high;
    return high + m::log1p(m::exp(low - high));
  }
  static double apply(double a, double b) {
    if (a != a || b != b) return a + b;
    const double low = a < b ? a : b, high = a < b ? b : a;
    if (low == high && low - low != 0) return low;  // both are the same infinity
    return high + ::log1p(::exp(low - high));
  }
};

template <class T>
void fill_logarithms(ScanLoops& loops) {
  loops.scan[static_cast<int>(ScanOp::kLogSumExp)][static_cast<int>(dtype_of<T>::value)] = {
      rows<LogAdd, T>, columns<LogAdd, T>};
}

template <class Op, class T>
void best(void* values_, int64_t* indices, const void* x_, int64_t stride, int64_t n) {
  auto* values = static_cast<T*>(values_);
  const auto* x = static_cast<const T*>(x_);
  T running = x[0];
  int64_t best_index = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T current = x[i * stride];
    if (current != current || (running == running && !Op::better(running, current))) {
      running = current;
      best_index = i;
    }
    values[i * stride] = running;
    indices[i * stride] = best_index;
  }
}

ScanLoops make() {
  ScanLoops loops{};
  const auto fill = [&]<class T>(T) {
    constexpr int dtype = static_cast<int>(dtype_of<T>::value);
    loops.scan[static_cast<int>(ScanOp::kSum)][dtype] = {rows<Sum, T>, columns<Sum, T>};
    loops.scan[static_cast<int>(ScanOp::kProd)][dtype] = {rows<Prod, T>, columns<Prod, T>};
    loops.reversed_sum[dtype] = {reversed_rows<T>, reversed_columns<T>};
  };
  fill(int64_t{});
  fill(double{});
  fill(float{});
  fill(Complex64{});
  fill(Complex128{});
  constexpr int kFloat = static_cast<int>(DType::kFloat32);
  loops.scan[static_cast<int>(ScanOp::kSum)][kFloat].rows = float_rows<Sum>;
  loops.scan[static_cast<int>(ScanOp::kProd)][kFloat].rows = float_rows<Prod>;
  fill_logarithms<float>(loops);
  fill_logarithms<double>(loops);
  fill_logarithms<Complex64>(loops);
  fill_logarithms<Complex128>(loops);
  const auto fill_best = [&]<class T>(T) {
    constexpr int dtype = static_cast<int>(dtype_of<T>::value);
    loops.best[0][dtype] = best<Min, T>;
    loops.best[1][dtype] = best<Max, T>;
  };
  fill_best(uint8_t{});
  fill_best(int32_t{});
  fill_best(int64_t{});
  fill_best(float{});
  fill_best(double{});
  return loops;
}

}  // namespace

const ScanLoops& scan_loops() {
  static const ScanLoops loops = make();
  return loops;
}

}  // namespace uh::UH_ISA
