// Distributions other than uniform and normal, from uniform draws; native_dropout.
#include <cmath>
#include <numbers>

#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/random.h"
#include "generated/ops/random.h"

namespace uh::kernels {
namespace {

Tensor even_draws(IntSpan sizes) { return ops::rand(Dims(sizes), DType::kFloat64, Device::kCPU); }

// self[...] = f(u) for uniform draws u of [0, 1).
template <class F>
void draw(const Tensor& self, const F& f) {
  const Tensor draws = even_draws(self.sizes());
  auto* at = draws.data_as<double>();
  for (int64_t i = 0; i < draws.numel(); ++i) at[i] = f(at[i]);
  copy_elements(self, draws);
}

// out[i] = 1 with probability p[i]; both contiguous.
template <class T>
void keep_with(T* out, const double* p, const double* u, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(u[i] < p[i] ? 1.0F : 0.0F);
}

void bernoulli_into(const Tensor& out, const Tensor& p) {
  const Tensor chances = as_contiguous(p, DType::kFloat64);
  const auto* at = chances.data_as<double>();
  for (int64_t i = 0; i < chances.numel(); ++i) {
    check(at[i] >= 0 && at[i] <= 1, "Expected p_in >= 0 && p_in <= 1 to be true, but got p=", at[i],
          " at element ", i);
  }
  const Tensor draws = even_draws(out.sizes());
  Tensor result = empty(out.sizes(), DType::kFloat64);
  keep_with(result.data_as<double>(), at, draws.data_as<double>(), result.numel());
  copy_elements(out, result);
}

void check_weights(const double* weights, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    check(weights[i] >= 0 && std::isfinite(weights[i]),
          "probability tensor contains either `inf`, `nan` or element < 0, namely ", weights[i]);
  }
}

// Writes the cumulative sums of a row of weights from index `first` on; the ones before it are
// there. Returns the last one. Throws if all weights are zero.
double accumulate(const double* weights, double* sums, int64_t first, int64_t n) {
  double total = first ? sums[first - 1] : 0;
  for (int64_t i = first; i < n; ++i) {
    total += weights[i];
    sums[i] = total;
  }
  check(total > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
  return total;
}

// Returns the first index whose cumulative sum exceeds `x`; never one of weight zero.
int64_t index_above(const double* sums, int64_t n, double x) {
  int64_t lo = std::upper_bound(sums, sums + n, x) - sums;
  if (lo >= n) lo = n - 1;
  while (lo > 0 && sums[lo] == sums[lo - 1]) --lo;
  return lo;
}

}  // namespace

void bernoulli(const Tensor& self, const Tensor& result) { bernoulli_into(result, self); }

void bernoulli_inplace_tensor(const Tensor& self, const Tensor& p) {
  Tensor wide = empty(self.sizes(), DType::kFloat64);
  copy_elements(wide, p);
  bernoulli_into(self, wide);
}

void multinomial(const Tensor& self, int64_t num_samples, bool replacement, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t n = self.size(self.ndim() - 1), rows = self.ndim() == 2 ? self.size(0) : 1;
  const Tensor weights = as_contiguous(self, DType::kFloat64);
  const Tensor draws = even_draws(out.sizes());
  std::vector<double> sums(static_cast<size_t>(n)), left(sums);
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(weights.data_as<double>() + row * n, n, left.begin());
    check_weights(left.data(), n);
    double total = accumulate(left.data(), sums.data(), 0, n);
    for (int64_t i = 0; i < num_samples; ++i) {
      const int64_t at = row * num_samples + i;
      const int64_t drawn = index_above(sums.data(), n, draws.data_as<double>()[at] * total);
      out.data_as<int64_t>()[at] = drawn;
      if (replacement || i + 1 == num_samples) continue;
      left[static_cast<size_t>(drawn)] = 0;
      total = accumulate(left.data(), sums.data(), drawn, n);
    }
  }
}

void normal_tensors(const Tensor& mean, const Tensor& std, const Tensor& out) {
  const Dims& sizes = out.sizes();
  Tensor result = ops::randn(sizes, DType::kFloat64, Device::kCPU);
  Tensor means = empty(sizes, DType::kFloat64), widths = empty(sizes, DType::kFloat64);
  copy_elements(means, mean);
  copy_elements(widths, std);
  for (int64_t i = 0; i < result.numel(); ++i) {
    const double width = widths.data_as<double>()[i];
    check(width >= 0, "normal expects all elements of std >= 0.0, got ", width);
    result.data_as<double>()[i] = result.data_as<double>()[i] * width + means.data_as<double>()[i];
  }
  copy_elements(out, result);
}

void exponential(const Tensor& self, double lambd) {
  draw(self, [lambd](double u) { return -std::log1p(-u) / lambd; });
}

void geometric(const Tensor& self, double p) {
  draw(self, [p](double u) { return std::max(1.0, std::ceil(std::log1p(-u) / std::log1p(-p))); });
}

void cauchy(const Tensor& self, double median, double sigma) {
  draw(self, [median, sigma](double u) {
    return median + sigma * std::tan(std::numbers::pi * (u - 0.5));
  });
}

void log_normal(const Tensor& self, double mean, double std) {
  Tensor result = ops::randn(self.sizes(), DType::kFloat64, Device::kCPU);
  auto* at = result.data_as<double>();
  for (int64_t i = 0; i < result.numel(); ++i) at[i] = std::exp(at[i] * std + mean);
  copy_elements(self, result);
}

// Knuth's product of draws, for rates of at most 16 at a time so that exp(-rate) does not
// underflow.
void poisson(const Tensor& self, const Tensor& out) {
  constexpr double kNormalFrom =
      1e4;  // differs from the normal distribution by less than float32's precision
  const Tensor rates = as_contiguous(self, DType::kFloat64);
  Tensor result = empty(self.sizes(), DType::kFloat64);
  constexpr int64_t kBatch = 4096;
  Tensor draws;
  int64_t used = kBatch;
  const auto next = [&] {
    if (used == kBatch) {
      draws = even_draws(Dims{kBatch});
      used = 0;
    }
    return 1 - draws.data_as<double>()[used++];  // in (0, 1]
  };
  for (int64_t i = 0; i < result.numel(); ++i) {
    double rate = rates.data_as<double>()[i];
    check(rate >= 0, "invalid Poisson rate, expected rate to be non-negative, got ", rate);
    double count = 0;
    if (rate > kNormalFrom) {
      const double radius = std::sqrt(-2 * std::log(next()));
      const double z = radius * std::cos(2 * std::numbers::pi * next());
      count = std::max(0.0, std::floor(rate + std::sqrt(rate) * z + 0.5));
      rate = 0;
    }
    while (rate > 0) {
      const double part = std::min(rate, 16.0), limit = std::exp(-part);
      for (double product = next(); product > limit; product *= next()) ++count;
      rate -= part;
    }
    result.data_as<double>()[i] = count;
  }
  copy_elements(out, result);
}

void native_dropout(const Tensor& input, double p, std::optional<bool> train, const Tensor& out,
                    const Tensor& mask) {
  if (!train.value_or(true)) {
    fill_elements(mask, element_bytes(Scalar(true), DType::kBool));
    copy_elements(out, input);
    return;
  }
  ops::bernoulli__float(mask, 1 - p);
  const double scale = p == 1 ? 1 : 1 / (1 - p);
  // Both are dense with one stride order: processed in memory order.
  Tensor source = input;
  if (!(input.strides() == out.strides())) {
    source = empty_like(input, input.dtype());
    copy_elements(source, input);
  }
  const bool* keep_mask = mask.data_as<bool>();
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) {
      using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const T* x = source.data_as<T>();
      T* y = out.data_as<T>();
      parallel_for(0, out.numel(), 65536, [&](int64_t lo, int64_t hi) {
        for (int64_t i = lo; i < hi; ++i)
          y[i] = T(static_cast<C>(x[i]) * (keep_mask[i] ? static_cast<C>(scale) : C{0}));
      });
    }
  });
}

}  // namespace uh::kernels
