// Random numbers on an OpenCL device: the stream of the CPU's kernels.
#include <cmath>
#include <numbers>

#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/rounding.h"
#include "generated/ops/transcendental.h"
#include "generated/structured/random.h"
#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"
#include "ops/random/generator.h"
#include "ops/random/real_parts.h"
#include "ops/random/shuffle.h"
#include "ops/reduce/shapes.h"

namespace uh::opencl {
namespace {

constexpr int64_t kLanes = 16;  // counters per group of 64 words

// Draws into `self`: one work item per counter, `per_group` elements per sixteen counters.
template <class... A>
void draw(const Source& source, const Tensor& self, int64_t per_group, const A&... numbers) {
  if (self.numel() == 0) return;
  const DenseResult out(self);
  const int64_t n = self.numel(), counters = (n + per_group - 1) / per_group * kLanes;
  const random::State state = random::reserve(static_cast<uint64_t>(counters));
  const Kernel& kernel = source.kernel(self.device(), computes(self.dtype()));
  launch(kernel, items_of(counters, kLanes), out.tensor(), state.seed, state.offset, numbers..., n);
  out.store();
}

void draw_pairs(const Source& source, const Tensor& self, double a, double b) {
  if (self.dtype() == DType::kFloat64) return draw(source, self, 32, a, b);
  draw(source, self, 64, static_cast<float>(a), static_cast<float>(b));
}

void draw_uniform(const Tensor& self, double lo, double hi) {
  static const Source source{sources::random, "uniform"};
  draw_pairs(source, is_complex(self.dtype()) ? real_parts(self) : self, lo, hi - lo);
}

// The variance of a complex number is the sum of those of its parts; both parts have the mean.
void draw_normal(const Tensor& self, double mean, double std) {
  static const Source source{sources::random, "normal"};
  if (is_complex(self.dtype()))
    return draw_pairs(source, real_parts(self), mean, std * std::sqrt(0.5));
  draw_pairs(source, self, mean, std);
}

void draw_integers(const Tensor& self, int64_t low, uint64_t range) {
  static const Source source{sources::random, "integers"};
  draw(source, self, range <= uint64_t{1} << 32 ? 64 : 32, low, range);
}

void draw_between(const Tensor& self, int64_t low, int64_t high) {
  draw_integers(self, low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
}

void draw_bernoulli(const Tensor& self, double p) {
  static const Source source{sources::random, "bernoulli"};
  draw(source, self, 64, static_cast<uint64_t>(p * 0x1p32));
}

void rand(const Dims&, DType, Device, const Tensor& result) { draw_uniform(result, 0, 1); }
void randn(const Dims&, DType, Device, const Tensor& result) { draw_normal(result, 0, 1); }
void rand_like(const Tensor&, DType, Device, MemoryFormat, const Tensor& result) {
  draw_uniform(result, 0, 1);
}
void randn_like(const Tensor&, DType, Device, MemoryFormat, const Tensor& result) {
  draw_normal(result, 0, 1);
}
void randint(int64_t low, int64_t high, const Dims&, DType, Device, const Tensor& result) {
  draw_between(result, low, high);
}
void randint_like(const Tensor&, int64_t low, int64_t high, DType, Device, MemoryFormat,
                  const Tensor& result) {
  draw_between(result, low, high);
}
// The device draws; the host shuffles by the drawn numbers, one swap after the other.
void randperm(int64_t n, DType, Device, const Tensor& result) {
  if (n == 0) return;
  const Tensor draws = empty(result.sizes(), DType::kInt64, result.device());
  draw_integers(draws, 0, uint64_t{1} << 63);
  const Tensor on_host = copy_to_host(draws);
  const Tensor order = empty(result.sizes(), DType::kInt64);
  shuffle(order.data_as<int64_t>(), on_host.data_as<uint64_t>(), n);
  ops::copy_(result, order, false);
}
void uniform(const Tensor& self, double from, double to) { draw_uniform(self, from, to); }
void normal(const Tensor& self, double mean, double std) { draw_normal(self, mean, std); }
void random_integers(const Tensor& self, int64_t low, int64_t high) {
  draw_between(self, low, high);
}
void bernoulli(const Tensor& self, double p) { draw_bernoulli(self, p); }

// Other distributions are functions of even draws in double, as on the CPU.

Tensor even_draws(const Tensor& self) {
  return ops::rand(self.sizes(), DType::kFloat64, self.device());
}

Tensor minus_log_of_rest(const Tensor& draws) {  // -log(1 - u)
  return ops::neg(ops::log1p(ops::neg(draws)));
}

void exponential(const Tensor& self, double lambd) {
  copy_elements(self, ops::div(minus_log_of_rest(even_draws(self)), Scalar(lambd)));
}
void geometric(const Tensor& self, double p) {
  const Tensor trials =
      ops::ceil(ops::div(minus_log_of_rest(even_draws(self)), Scalar(-std::log1p(-p))));
  copy_elements(self, ops::clamp(trials, Scalar(1.0), std::nullopt));
}
void cauchy(const Tensor& self, double median, double sigma) {
  const Tensor turn =
      ops::mul(ops::sub(even_draws(self), Scalar(0.5), Scalar(1)), Scalar(std::numbers::pi));
  copy_elements(self, ops::add(ops::mul(ops::tan(turn), Scalar(sigma)), Scalar(median), Scalar(1)));
}
void log_normal(const Tensor& self, double mean, double std) {
  const Tensor draws = ops::randn(self.sizes(), DType::kFloat64, self.device());
  copy_elements(self, ops::exp(ops::add(ops::mul(draws, Scalar(std)), Scalar(mean), Scalar(1))));
}

void native_dropout(const Tensor& input, double p, std::optional<bool> train, const Tensor& out,
                    const Tensor& mask) {
  if (!train.value_or(true)) {
    fill({}, mask, Scalar(true));
    return copy_elements(out, input);
  }
  draw_bernoulli(mask, 1 - p);
  static const Source source{sources::random, "dropout"};
  const Tensor x = contiguous(input);
  const DenseResult result(out);
  const Tensor retained = contiguous(mask);
  const double scale = p == 1 ? 1 : 1 / (1 - p);
  const Kernel& kernel = source.kernel(out.device(), computes(out.dtype()));
  if (out.dtype() == DType::kFloat64)
    launch_items(kernel, out.numel(), x, retained, result.tensor(), scale);
  else
    launch_items(kernel, out.numel(), x, retained, result.tensor(), static_cast<float>(scale));
  result.store();
}

// If the device does not have the result's dtype, the CPU draws.
constexpr auto kHasDtype = [](const Tensor& self, const auto&...) {
  return has_dtype(self.device(), self.dtype());
};
constexpr auto kHasDoubles = [](const Tensor& self, const auto&...) {
  return has_dtype(self.device(), DType::kFloat64);
};
constexpr auto kMakesDtype = [](const Dims&, DType dtype, Device device) {
  return has_dtype(with_index(device), or_else(dtype, default_dtype()));
};
constexpr auto kDrawsLike = [](const Tensor& self, DType dtype, Device device, MemoryFormat) {
  const Device target = device == Device::kUndefined ? self.device() : with_index(device);
  return target == self.device() && has_dtype(target, or_else(dtype, self.dtype()));
};

}  // namespace

void register_random() {
  namespace s = structured;
  register_partial<ops::rand_op, kMakesDtype, s::rand<rand>>("opencl rand");
  register_partial<ops::randn_op, kMakesDtype, s::randn<randn>>("opencl randn");
  register_partial<ops::rand_like_op, kDrawsLike, s::rand_like<rand_like>>("opencl rand_like");
  register_partial<ops::randn_like_op, kDrawsLike, s::randn_like<randn_like>>("opencl randn_like");
  s::register_randint<randint>(Key::kOpenCL, "opencl randint");
  s::register_randint_like<randint_like>(Key::kOpenCL, "opencl randint_like");
  register_partial<ops::uniform__op, kHasDtype, s::uniform_<uniform>>("opencl uniform_");
  register_partial<ops::normal__op, kHasDtype, s::normal_<normal>>("opencl normal_");
  register_partial<ops::random__op, kHasDtype, s::random_<random_integers>>("opencl random_");
  register_partial<ops::bernoulli__float_op, kHasDtype, s::bernoulli__float<bernoulli>>(
      "opencl bernoulli_");
  s::register_randperm<randperm>(Key::kOpenCL, "opencl randperm");
  register_partial<ops::exponential__op, kHasDoubles, s::exponential_<exponential>>(
      "opencl exponential_");
  register_partial<ops::geometric__op, kHasDoubles, s::geometric_<geometric>>("opencl geometric_");
  register_partial<ops::cauchy__op, kHasDoubles, s::cauchy_<cauchy>>("opencl cauchy_");
  register_partial<ops::log_normal__op, kHasDoubles, s::log_normal_<log_normal>>(
      "opencl log_normal_");
  register_partial<ops::native_dropout_op, kFloatingFirst, s::native_dropout<native_dropout>>(
      "opencl native_dropout");
}

}  // namespace uh::opencl
