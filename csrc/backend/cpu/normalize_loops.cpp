#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/normalize_loops.h"

#include <cmath>

#include "backend/cpu/row_moments.h"

namespace uh::UH_ISA {
namespace {

// out = (x - mean) * rstd, times weight and plus bias if there are any.
template <bool kWeight, bool kBias, class T>
inline void normalize(T* __restrict out, const T* __restrict x, const T* __restrict weight,
                      const T* __restrict bias, int64_t n, T mean, T rstd) {
  for (int64_t i = 0; i < n; ++i) {
    T value = (x[i] - mean) * rstd;
    if constexpr (kWeight) value *= weight[i];
    if constexpr (kBias) value += bias[i];
    out[i] = value;
  }
}

template <class T>
void normalize_row(T* out, const T* x, const T* weight, const T* bias, int64_t n, T mean, T rstd) {
  if (weight && bias) return normalize<true, true>(out, x, weight, bias, n, mean, rstd);
  if (weight) return normalize<true, false>(out, x, weight, bias, n, mean, rstd);
  if (bias) return normalize<false, true>(out, x, weight, bias, n, mean, rstd);
  normalize<false, false>(out, x, weight, bias, n, mean, rstd);
}

template <class T>
void layer(void* out_, void* means, void* rstds, const void* x_, const void* weight,
           const void* bias, int64_t rows, int64_t n, double eps) {
  auto* out = static_cast<T*>(out_);
  const auto* x = static_cast<const T*>(x_);
  for (int64_t r = 0; r < rows; ++r, out += n, x += n) {
    Moments acc{0, 0, 0};
    add_moments(acc, x, n);
    const T mean = static_cast<T>(acc.mean);
    const T rstd = static_cast<T>(1 / std::sqrt(acc.squares / static_cast<double>(n) + eps));
    normalize_row(out, x, static_cast<const T*>(weight), static_cast<const T*>(bias), n, mean,
                  rstd);
    static_cast<T*>(means)[r] = mean;
    static_cast<T*>(rstds)[r] = rstd;
  }
}

template <class T>
struct Squared {
  using Element = T;
  using Lane = T;
  static Lane apply(T x) { return x * x; }
};

template <class T>
void rms(void* out_, void* rstds, const void* x_, const void* weight, int64_t rows, int64_t n,
         double eps) {
  auto* out = static_cast<T*>(out_);
  const auto* x = static_cast<const T*>(x_);
  for (int64_t r = 0; r < rows; ++r, out += n, x += n) {
    double squares = 0;
    run<Sum, Squared<T>, double>(&squares, x, n);
    const T rstd = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n) + eps));
    normalize_row(out, x, static_cast<const T*>(weight), static_cast<const T*>(nullptr), n, T(0),
                  rstd);
    static_cast<T*>(rstds)[r] = rstd;
  }
}

template <class T>
void moments(Moments* acc, const void* x, int64_t n) {
  add_moments(*acc, static_cast<const T*>(x), n);
}

template <class T>
void segment(void* out_, const void* x_, int64_t n, double mean_, double scale_, double shift_) {
  auto* __restrict out = static_cast<T*>(out_);
  const auto* __restrict x = static_cast<const T*>(x_);
  const T mean = static_cast<T>(mean_), scale = static_cast<T>(scale_);
  const T shift = static_cast<T>(shift_);
  for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - mean) * scale + shift;
}

template <class T>
void columns(void* out_, const void* x_, const void* mean_, const void* scale_, const void* shift_,
             int64_t rows, int64_t n) {
  const auto* __restrict mean = static_cast<const T*>(mean_);
  const auto* __restrict scale = static_cast<const T*>(scale_);
  const auto* __restrict shift = static_cast<const T*>(shift_);
  for (int64_t r = 0; r < rows; ++r) {
    auto* __restrict out = static_cast<T*>(out_) + r * n;
    const auto* __restrict x = static_cast<const T*>(x_) + r * n;
    for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - mean[i]) * scale[i] + shift[i];
  }
}

template <class T>
NormalizeLoops loops() {
  return {layer<T>, rms<T>, moments<T>, segment<T>, columns<T>};
}

NormalizeTable make() {
  NormalizeTable table{};
  table.of[static_cast<int>(DType::kFloat32)] = loops<float>();
  table.of[static_cast<int>(DType::kFloat64)] = loops<double>();
  return table;
}

}  // namespace

const NormalizeTable& normalize_loops() {
  static const NormalizeTable table = make();
  return table;
}

}  // namespace uh::UH_ISA
