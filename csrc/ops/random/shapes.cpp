#include "ops/random/shapes.h"

#include "ops/copy/element.h"
#include "ops/copy/write_out.h"
#include "ops/creation/options.h"
#include "ops/overlap.h"
#include "ops/random/dropout.h"

namespace uh::shapes {
namespace {

void check_inexact(const Tensor& self, std::string_view title) {
  check_kind(is_inexact(self.dtype()), ErrorKind::kNotImplemented, "\"", title,
             "\" not implemented for '", info(self.dtype()).title, "'");
}

void check_floating(const Tensor& self, std::string_view title) {
  check_kind(is_floating(self.dtype()), ErrorKind::kNotImplemented, "\"", title,
             "\" not implemented for '", info(self.dtype()).title, "'");
}

void check_range(int64_t low, int64_t high, DType dtype) {
  check(!is_complex(dtype),
        "check_random_bounds handles only integral, floating-point and boolean types, got ",
        name(dtype));
  check(low < high, "random_ expects 'from' to be less than 'to', but got from=", low,
        " >= to=", high);
  if (dtype == DType::kBool)
    return check(low >= 0 && high <= 2, "from and to - 1 must fit bool, got ", low, " and ", high);
  if (is_floating(dtype)) return;
  element_bytes(low, dtype);
  element_bytes(high - 1, dtype);
}

}  // namespace

Tensor draws(std::string_view title, const Dims& size, DType dtype, Device device) {
  Tensor out = empty(size, or_default(dtype), or_cpu(device));
  check_inexact(out, title);
  return out;
}

Tensor draws_like(std::string_view title, const Tensor& self, DType dtype, Device device,
                  MemoryFormat format) {
  Tensor out = empty_like(self, like(dtype, self), like(device, self), format);
  check_inexact(out, title);
  return out;
}

Tensor randint(int64_t low, int64_t high, const Dims& size, DType dtype, Device device) {
  Tensor out = empty(size, dtype == DType::kUndefined ? DType::kInt64 : dtype, or_cpu(device));
  check_range(low, high, out.dtype());
  return out;
}

Tensor randint_like(const Tensor& self, int64_t low, int64_t high, DType dtype, Device device,
                    MemoryFormat format) {
  Tensor out = empty_like(self, like(dtype, self), like(device, self), format);
  check_range(low, high, out.dtype());
  return out;
}

Tensor randperm(int64_t n, DType dtype, Device device) {
  check(n >= 0, "randperm: n must be non-negative, got ", n);
  const DType target = dtype == DType::kUndefined ? DType::kInt64 : dtype;
  check_kind(!is_complex(target), ErrorKind::kNotImplemented, "\"randperm\" not implemented for '",
             info(target).title, "'");
  if (n > 0 && target != DType::kBool) check_fits(n - 1, target);
  return empty(IntSpan(&n, 1), target, or_cpu(device));
}

void uniform(const Tensor& self, double from, double to) {
  check_inexact(self, "check_uniform_bounds");
  check(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from,
        " > to=", to);
  check_no_internal_overlap(self, "uniform_");
}

void normal(const Tensor& self, double std) {
  check_inexact(self, "normal_kernel_cpu");
  check(std >= 0, "normal expects std >= 0.0, but found std ", std);
  check_no_internal_overlap(self, "normal_");
}

void random(const Tensor& self, int64_t low, int64_t high) {
  check_no_internal_overlap(self, "random_");
  check_range(low, high, self.dtype());
}

void bernoulli_inplace(const Tensor& self, double p) {
  check_kind(!is_complex(self.dtype()), ErrorKind::kNotImplemented,
             "\"bernoulli_scalar_cpu_\" not implemented for '", info(self.dtype()).title, "'");
  check(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  check_no_internal_overlap(self, "bernoulli_");
}

void bernoulli_inplace(const Tensor& self, const Tensor& p) {
  check_floating(p, "bernoulli_tensor_cpu_p_");
  check_broadcasts_to(p.sizes(), self.sizes(), "bernoulli_");
  check_no_internal_overlap(self, "bernoulli_");
}

void exponential(const Tensor& self, double lambd) {
  check_floating(self, "exponential_kernel_cpu");
  check(lambd > 0, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
  check_no_internal_overlap(self, "exponential_");
}

void geometric(const Tensor& self, double p) {
  check(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  check_kind(self.dtype() != DType::kBool && !is_complex(self.dtype()), ErrorKind::kNotImplemented,
             "\"geometric_cpu\" not implemented for '", info(self.dtype()).title, "'");
  check_no_internal_overlap(self, "geometric_");
}

void cauchy(const Tensor& self, double sigma) {
  check_floating(self, "cauchy_cpu");
  check(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  check_no_internal_overlap(self, "cauchy_");
}

void log_normal(const Tensor& self, double std) {
  check_floating(self, "log_normal_cpu");
  check(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  check_no_internal_overlap(self, "log_normal_");
}

Tensor draw_of_each(std::string_view title, const Tensor& self) {
  check_floating(self, title);
  return empty(self.sizes(), self.dtype(), self.device());
}

Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement) {
  check(self.ndim() == 1 || self.ndim() == 2, "prob_dist must be 1 or 2 dim, got ", self.ndim(),
        " dim");
  check(
      is_floating(self.dtype()),
      "multinomial only supports floating-point dtypes for input, got: ", info(self.dtype()).title);
  check(num_samples > 0, "cannot sample n_sample <= 0 samples, got ", num_samples);
  const int64_t n = self.size(self.ndim() - 1);
  check(replacement || num_samples <= n,
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement: ", num_samples,
        " > ", n);
  check(n <= int64_t{1} << 24, "number of categories cannot exceed 2^24, got ", n);
  return empty(self.ndim() == 2 ? Dims{self.size(0), num_samples} : Dims{num_samples},
               DType::kInt64, self.device());
}

Tensor normal(const Tensor& mean, const Tensor& std) {
  check_floating(mean, "normal");
  return empty(broadcast_shapes(mean.sizes(), std.sizes()), mean.dtype(), mean.device());
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p,
                                          std::optional<bool> train) {
  if (train.value_or(true)) {
    check_scalable(input, "native_dropout");
    check_probability(p, "dropout");
  }
  Tensor mask = empty_like(input, DType::kBool);
  return {empty_like(input, input.dtype()), mask};
}

}  // namespace uh::shapes
