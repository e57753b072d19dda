#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/normalize_backward_loops.h"

#include "backend/cpu/vectors.h"

namespace uh::UH_ISA {
namespace {

constexpr int64_t kRun = 1 << 12;  // elements summed in their own dtype

// The sums of h and of h * (x - mean) over a row, with h = grad * weight.
template <bool kWeight, class T>
inline void row_sums(const T* __restrict grad, const T* __restrict x, const T* __restrict weight,
                     int64_t n, T mean, double& sum, double& product) {
  using L = Lanes<T>;
  using V = typename L::Vector;
  constexpr int64_t kStep = 32, kParts = kStep / L::kCount;
  for (int64_t begin = 0; begin < n; begin += kRun) {
    const int64_t end = n - begin < kRun ? n : begin + kRun;
    V first[kParts] = {}, second[kParts] = {};
    int64_t i = begin;
    for (; i + kStep <= end; i += kStep) {
#pragma GCC unroll 16
      for (int64_t v = 0; v < kParts; ++v) {
        const int64_t at = i + v * L::kCount;
        V h = L::load(grad + at);
        if constexpr (kWeight) h *= L::load(weight + at);
        first[v] += h;
        second[v] += h * (L::load(x + at) - mean);
      }
    }
    T a = L::sum(first), b = L::sum(second);
    for (; i < end; ++i) {
      const T h = kWeight ? grad[i] * weight[i] : grad[i];
      a += h;
      b += h * (x[i] - mean);
    }
    sum += static_cast<double>(a);
    product += static_cast<double>(b);
  }
}

// dx = a * grad * weight + b * (x - mean) + c
template <bool kWeight, class T>
inline void row_input(T* __restrict dx, const T* __restrict grad, const T* __restrict x,
                      const T* __restrict weight, int64_t n, T a, T mean, T b, T c) {
  for (int64_t i = 0; i < n; ++i) {
    const T h = kWeight ? grad[i] * weight[i] : grad[i];
    dx[i] = a * h + b * (x[i] - mean) + c;
  }
}
template <class T>
inline void row_parameters(T* __restrict dweight, T* __restrict dbias, const T* __restrict grad,
                           const T* __restrict x, int64_t n, T mean, T rstd) {
  if (dweight && dbias) {
    for (int64_t i = 0; i < n; ++i) {
      dweight[i] += grad[i] * ((x[i] - mean) * rstd);
      dbias[i] += grad[i];
    }
  } else if (dweight) {
    for (int64_t i = 0; i < n; ++i) dweight[i] += grad[i] * ((x[i] - mean) * rstd);
  } else if (dbias) {
    for (int64_t i = 0; i < n; ++i) dbias[i] += grad[i];
  }
}

template <class T>
void layer(void* dx_, void* dweight, void* dbias, const void* grad_, const void* x_,
           const void* means, const void* rstds, const void* weight_, int64_t rows, int64_t n) {
  auto* dx = static_cast<T*>(dx_);
  const auto *grad = static_cast<const T*>(grad_), *x = static_cast<const T*>(x_);
  const auto* weight = static_cast<const T*>(weight_);
  for (int64_t r = 0; r < rows; ++r, grad += n, x += n) {
    const T mean = means ? static_cast<const T*>(means)[r] : T(0);
    const T rstd = static_cast<const T*>(rstds)[r];
    row_parameters(static_cast<T*>(dweight), static_cast<T*>(dbias), grad, x, n, mean, rstd);
    if (!dx) continue;
    double sum = 0, product = 0;
    weight ? row_sums<true>(grad, x, weight, n, mean, sum, product)
           : row_sums<false>(grad, x, weight, n, mean, sum, product);
    const auto scale = static_cast<double>(rstd), count = static_cast<double>(n);
    const T b = static_cast<T>(-scale * scale * scale * product / count);
    const T c = means ? static_cast<T>(-scale * sum / count) : T(0);
    weight ? row_input<true>(dx, grad, x, weight, n, rstd, mean, b, c)
           : row_input<false>(dx, grad, x, weight, n, rstd, mean, b, c);
    dx += n;
  }
}

template <class T>
void sums(double* sum, double* product, const void* grad, const void* x, int64_t n, double mean) {
  row_sums<false>(static_cast<const T*>(grad), static_cast<const T*>(x),
                  static_cast<const T*>(nullptr), n, static_cast<T>(mean), *sum, *product);
}

template <class T>
void segment(void* dx, const void* grad, const void* x, int64_t n, double a, double mean, double b,
             double c) {
  row_input<false>(static_cast<T*>(dx), static_cast<const T*>(grad), static_cast<const T*>(x),
                   static_cast<const T*>(nullptr), n, static_cast<T>(a), static_cast<T>(mean),
                   static_cast<T>(b), static_cast<T>(c));
}

template <class T>
void column_sums(double* __restrict sum, double* __restrict product, const void* grad_,
                 const void* x_, const double* __restrict mean, int64_t rows, int64_t n) {
  const auto* __restrict grad = static_cast<const T*>(grad_);
  const auto* __restrict x = static_cast<const T*>(x_);
  for (int64_t r = 0; r < rows; ++r, grad += n, x += n) {
    for (int64_t i = 0; i < n; ++i) {
      const auto g = static_cast<double>(grad[i]);
      sum[i] += g;
      product[i] += g * (static_cast<double>(x[i]) - mean[i]);
    }
  }
}

template <class T>
void columns(void* dx_, const void* grad_, const void* x_, const double* __restrict a,
             const double* __restrict mean, const double* __restrict b, const double* __restrict c,
             int64_t rows, int64_t n) {
  auto* __restrict dx = static_cast<T*>(dx_);
  const auto* __restrict grad = static_cast<const T*>(grad_);
  const auto* __restrict x = static_cast<const T*>(x_);
  for (int64_t r = 0; r < rows; ++r, dx += n, grad += n, x += n) {
    for (int64_t i = 0; i < n; ++i)
      dx[i] = static_cast<T>(a[i] * static_cast<double>(grad[i]) +
                             b[i] * (static_cast<double>(x[i]) - mean[i]) + c[i]);
  }
}

template <class T>
constexpr NormalizeBackwardLoops kLoops{layer<T>, sums<T>, segment<T>, column_sums<T>, columns<T>};

}  // namespace

const NormalizeBackwardTable& normalize_backward_loops() {
  static const NormalizeBackwardTable table = [] {
    NormalizeBackwardTable t{};
    t.of[static_cast<int>(DType::kFloat32)] = kLoops<float>;
    t.of[static_cast<int>(DType::kFloat64)] = kLoops<double>;
    return t;
  }();
  return table;
}

}  // namespace uh::UH_ISA
