// Distributions other than even and normal, made from even draws; dropout.
#include <cmath>
#include <numbers>

#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/random.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/copy.h"
#include "generated/ops/random.h"
#include "ops/copy/write_out.h"

namespace uh::kernels {
namespace {

void check_floating_dtype(const Tensor& t, std::string_view op) {
  check_kind(is_floating(t.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(t.dtype()).title, "'");
}

// What everything is multiplied by where all is dropped; it does not promote.
Scalar zero_of(const Tensor& t) {
  return t.dtype() == DType::kBool ? Scalar(false) : Scalar(int64_t{0});
}

// Dropout scales its mask in the dtype of the input.
void check_scalable(const Tensor& input, std::string_view op) {
  check(is_inexact(input.dtype()), op, ": result type Float can't be cast to the desired ",
        "output type ", info(input.dtype()).title);
  check_floating_dtype(input, op);
}

Tensor even_draws(IntSpan sizes) { return ops::rand(Dims(sizes), DType::kFloat64, Device::kCPU); }

// self[...] = f(u) for even draws u of [0, 1).
template <class F>
void draw(const Tensor& self, std::string_view op, const F& f) {
  check_no_internal_overlap(self, op);
  if (self.is_meta()) return;
  const Tensor draws = even_draws(self.sizes());
  auto* at = draws.data_as<double>();
  for (int64_t i = 0; i < draws.numel(); ++i) at[i] = f(at[i]);
  copy_elements(self, draws);
  record_write(self);
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
  record_write(out);
}

void check_probability(double p, std::string_view op) {
  check(p >= 0 && p <= 1, op, " probability has to be between 0 and 1, but got ", p);
}

// A mask of channels: (N, C, 1, ...) for the sizes (N, C, ...).
Tensor channel_mask(const Tensor& input, std::string_view op) {
  check(input.ndim() >= 2, op, " requires at least 2 dimensions in the input, got ", input.ndim());
  Dims sizes = input.sizes();
  for (size_t d = 2; d < sizes.size(); ++d) sizes[d] = 1;
  return empty(sizes, DType::kFloat64, input.device());
}

// out = kept ? input * scale + shift : dropped * scale + shift, `mask` broadcasting to the input.
Tensor dropped(const Tensor& input, const Tensor& mask, double p, double floor, double scale,
               double shift) {
  check_scalable(input, "dropout");
  ops::bernoulli__float(mask, 1 - p);
  const auto as_input = [&](const Tensor& t) {
    return ops::_to_copy(t, input.dtype(), Device::kUndefined, MemoryFormat::kUndefined);
  };
  const Tensor result = ops::mul(input, as_input(ops::mul(mask, Scalar(scale))));
  if (floor == 0 && shift == 0) return result;
  const double dropped_value = floor * scale;  // what a dropped element becomes, but for the shift
  const Tensor added =
      ops::add(ops::mul(mask, Scalar(-dropped_value)), Scalar(dropped_value + shift), Scalar(1));
  return ops::add(result, as_input(added), Scalar(1));
}

// What selu tends to for large negative numbers, without the sign: its scale times its alpha.
constexpr double kSeluLimit = 1.7580993408473766;

Tensor alpha_dropped(const Tensor& input, const Tensor& mask, double p) {
  const double a = 1 / std::sqrt((1 - p) * (1 + p * kSeluLimit * kSeluLimit));
  return dropped(input, mask, p, -kSeluLimit, p == 1 ? 0 : a, p == 1 ? 0 : a * kSeluLimit * p);
}

// One row of weights as its running sums; throws for weights that are none.
double running_sums(const double* weights, double* sums, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) {
    check(weights[i] >= 0 && std::isfinite(weights[i]),
          "probability tensor contains either `inf`, `nan` or element < 0, namely ", weights[i]);
    sums[i] = total += weights[i];
  }
  check(total > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
  return total;
}

// The first index whose running sum lies above `x`; never one without weight.
int64_t index_above(const double* sums, int64_t n, double x) {
  int64_t lo = std::upper_bound(sums, sums + n, x) - sums;
  if (lo >= n) lo = n - 1;
  while (lo > 0 && sums[lo] == sums[lo - 1]) --lo;
  return lo;
}

}  // namespace

Tensor bernoulli(KeySet, const Tensor& self) {
  check_floating_dtype(self, "bernoulli_tensor_cpu_p_");
  Tensor out = empty_like(self, self.dtype());
  if (!out.is_meta()) bernoulli_into(out, self);
  return out;
}

Tensor bernoulli_p(KeySet, const Tensor& self, double p) {
  Tensor out = empty_like(self, self.dtype());
  ops::bernoulli__float(out, p);
  return out;
}

void bernoulli_inplace_tensor(KeySet, const Tensor& self, const Tensor& p) {
  check_floating_dtype(p, "bernoulli_tensor_cpu_p_");
  check_broadcasts_to(p.sizes(), self.sizes(), "bernoulli_");
  check_no_internal_overlap(self, "bernoulli_");
  if (self.is_meta()) return;
  Tensor wide = empty(self.sizes(), DType::kFloat64);
  copy_elements(wide, p);
  bernoulli_into(self, wide);
}

Tensor multinomial(KeySet, const Tensor& self, int64_t num_samples, bool replacement) {
  check(self.ndim() == 1 || self.ndim() == 2, "prob_dist must be 1 or 2 dim, got ", self.ndim(),
        " dim");
  check(
      is_floating(self.dtype()),
      "multinomial only supports floating-point dtypes for input, got: ", info(self.dtype()).title);
  check(num_samples > 0, "cannot sample n_sample <= 0 samples, got ", num_samples);
  const int64_t n = self.size(self.ndim() - 1), rows = self.ndim() == 2 ? self.size(0) : 1;
  check(replacement || num_samples <= n,
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement: ", num_samples,
        " > ", n);
  check(n <= int64_t{1} << 24, "number of categories cannot exceed 2^24, got ", n);
  Tensor out = empty(self.ndim() == 2 ? Dims{rows, num_samples} : Dims{num_samples}, DType::kInt64,
                     self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const Tensor weights = as_contiguous(self, DType::kFloat64);
  const Tensor draws = even_draws(out.sizes());
  std::vector<double> sums(static_cast<size_t>(n)), left(sums);
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(weights.data_as<double>() + row * n, n, left.begin());
    double total = running_sums(left.data(), sums.data(), n);
    for (int64_t i = 0; i < num_samples; ++i) {
      const int64_t at = row * num_samples + i;
      const int64_t drawn = index_above(sums.data(), n, draws.data_as<double>()[at] * total);
      out.data_as<int64_t>()[at] = drawn;
      if (replacement || i + 1 == num_samples) continue;
      left[static_cast<size_t>(drawn)] = 0;
      total = running_sums(left.data(), sums.data(), n);
    }
  }
  record_write(out);
  return out;
}

Tensor normal_tensors(KeySet, const Tensor& mean, const Tensor& std) {
  check_floating_dtype(mean, "normal");
  const Dims sizes = broadcast_shapes(mean.sizes(), std.sizes());
  Tensor out = empty(sizes, mean.dtype(), mean.device());
  if (out.is_meta()) return out;
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
  record_write(out);
  return out;
}

void exponential(KeySet, const Tensor& self, double lambd) {
  check_floating_dtype(self, "exponential_kernel_cpu");
  check(lambd > 0, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
  draw(self, "exponential_", [lambd](double u) { return -std::log1p(-u) / lambd; });
}

void geometric(KeySet, const Tensor& self, double p) {
  check(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  check_kind(self.dtype() != DType::kBool && !is_complex(self.dtype()), ErrorKind::kNotImplemented,
             "\"geometric_cpu\" not implemented for '", info(self.dtype()).title, "'");
  draw(self, "geometric_",
       [p](double u) { return std::max(1.0, std::ceil(std::log1p(-u) / std::log1p(-p))); });
}

void cauchy(KeySet, const Tensor& self, double median, double sigma) {
  check_floating_dtype(self, "cauchy_cpu");
  check(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  draw(self, "cauchy_", [median, sigma](double u) {
    return median + sigma * std::tan(std::numbers::pi * (u - 0.5));
  });
}

void log_normal(KeySet, const Tensor& self, double mean, double std) {
  check_floating_dtype(self, "log_normal_cpu");
  check(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  check_no_internal_overlap(self, "log_normal_");
  if (self.is_meta()) return;
  Tensor result = ops::randn(self.sizes(), DType::kFloat64, Device::kCPU);
  auto* at = result.data_as<double>();
  for (int64_t i = 0; i < result.numel(); ++i) at[i] = std::exp(at[i] * std + mean);
  copy_elements(self, result);
  record_write(self);
}

// Knuth's product of draws, in parts of rate 16 at most so that exp(-rate) does not vanish.
Tensor poisson(KeySet, const Tensor& self) {
  check_floating_dtype(self, "poisson_cpu");
  Tensor out = empty_like(self, self.dtype());
  if (out.is_meta()) return out;
  constexpr double kNormalFrom =
      1e4;  // the difference to the normal distribution is below float32's precision
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
    return 1 - draws.data_as<double>()[used++];  // of (0, 1]
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
  record_write(out);
  return out;
}

std::tuple<Tensor, Tensor> native_dropout(KeySet, const Tensor& input, double p,
                                          std::optional<bool> train) {
  const bool dropping = train.value_or(true);
  if (dropping) {
    check_scalable(input, "native_dropout");
    check_probability(p, "dropout");
  }
  Tensor mask = empty_like(input, DType::kBool), out = empty_like(input, input.dtype());
  if (out.is_meta()) return {out, mask};
  if (!dropping) {
    fill_elements(mask, element_bytes(Scalar(true), DType::kBool));
    record_write(mask);
    copy_elements(out, input);
    record_write(out);
    return {out, mask};
  }
  ops::bernoulli__float(mask, 1 - p);
  const double scale = p == 1 ? 1 : 1 / (1 - p);
  // Both are dense in the same order: element by element in memory order.
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
  record_write(out);
  return {out, mask};
}

Tensor dropout(KeySet, const Tensor& input, double p, bool train) {
  check_probability(p, "dropout");
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return ops::mul(input, zero_of(input));
  return std::get<0>(ops::native_dropout(input, p, true));
}

void dropout_inplace(KeySet, const Tensor& self, double p, bool train) {
  check_probability(p, "dropout");
  if (p == 0 || !train || self.numel() == 0) return;
  if (p == 1) return ops::mul_(self, zero_of(self));
  check_scalable(self, "dropout");
  const Tensor mask = empty_like(self, DType::kBool);
  ops::bernoulli__float(mask, 1 - p);
  const Tensor retained =
      ops::_to_copy(mask, self.dtype(), Device::kUndefined, MemoryFormat::kUndefined);
  ops::mul_(self, ops::mul(retained, Scalar(1 / (1 - p))));
}

Tensor feature_dropout(KeySet, const Tensor& input, double p, bool train) {
  check_probability(p, "dropout");
  if (p == 0 || !train || input.numel() == 0) return input;
  return dropped(input, channel_mask(input, "feature_dropout"), p, 0, p == 1 ? 1 : 1 / (1 - p), 0);
}

Tensor alpha_dropout(KeySet, const Tensor& input, double p, bool train) {
  check_probability(p, "dropout");
  if (p == 0 || !train || input.numel() == 0) return input;
  return alpha_dropped(input, empty(input.sizes(), DType::kFloat64, input.device()), p);
}

Tensor feature_alpha_dropout(KeySet, const Tensor& input, double p, bool train) {
  check_probability(p, "dropout");
  if (p == 0 || !train || input.numel() == 0) return input;
  return alpha_dropped(input, channel_mask(input, "feature_alpha_dropout"), p);
}

}  // namespace uh::kernels
