// The composites of random.yaml: dropout, and random tensors like another.
#include "ops/random/dropout.h"

#include <cmath>

#include "generated/kernels/random.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/copy.h"
#include "generated/ops/random.h"

namespace uh {

void check_scalable(const Tensor& input, std::string_view op) {
  check(is_inexact(input.dtype()), op, ": result type Float can't be cast to the desired ",
        "output type ", info(input.dtype()).title);
  check_kind(is_floating(input.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(input.dtype()).title, "'");
}

void check_probability(double p, std::string_view op) {
  check(p >= 0 && p <= 1, op, " probability has to be between 0 and 1, but got ", p);
}

}  // namespace uh

namespace uh::kernels {
namespace {

// Returns a zero to multiply `t` by, of a dtype that does not change the result's.
Scalar zero_of(const Tensor& t) {
  return t.dtype() == DType::kBool ? Scalar(false) : Scalar(int64_t{0});
}

// Returns the result of a call that draws nothing, else no tensor.
Tensor without_draw(const Tensor& input, double p, bool train) {
  check_probability(p, "dropout");
  if (p == 0 || !train || input.numel() == 0) return input;
  return p == 1 ? ops::mul(input, zero_of(input)) : Tensor();
}

// Returns a mask of sizes (N, C, 1, ...) for an input of sizes (N, C, ...).
Tensor channel_mask(const Tensor& input, std::string_view op) {
  check(input.ndim() >= 2, op, " requires at least 2 dimensions in the input, got ", input.ndim());
  Dims sizes = input.sizes();
  for (size_t d = 2; d < sizes.size(); ++d) sizes[d] = 1;
  return empty(sizes, DType::kFloat64, input.device());
}

// Returns (keep ? input : floor) * scale + shift, with `mask` broadcast to the input.
Tensor dropped(const Tensor& input, const Tensor& mask, double p, double floor, double scale,
               double shift) {
  check_scalable(input, "dropout");
  ops::bernoulli__float(mask, 1 - p);
  const auto as_input = [&](const Tensor& t) {
    return ops::_to_copy(t, input.dtype(), Device::kUndefined, MemoryFormat::kUndefined);
  };
  const Tensor result = ops::mul(input, as_input(ops::mul(mask, Scalar(scale))));
  if (floor == 0 && shift == 0) return result;
  const double dropped_value = floor * scale;  // value of a dropped element before the shift
  const Tensor added =
      ops::add(ops::mul(mask, Scalar(-dropped_value)), Scalar(dropped_value + shift), Scalar(1));
  return ops::add(result, as_input(added), Scalar(1));
}

// The negated limit of selu at minus infinity: its scale times its alpha.
constexpr double kSeluLimit = 1.7580993408473766;

Tensor alpha_dropped(const Tensor& input, const Tensor& mask, double p) {
  const double a = 1 / std::sqrt((1 - p) * (1 + p * kSeluLimit * kSeluLimit));
  return dropped(input, mask, p, -kSeluLimit, a, a * kSeluLimit * p);
}

}  // namespace

Tensor bernoulli_p(KeySet, const Tensor& self, double p) {
  Tensor out = empty(self.sizes(), self.dtype(), self.device());
  ops::bernoulli__float(out, p);
  return out;
}

Tensor dropout(KeySet, const Tensor& input, double p, bool train) {
  if (const Tensor result = without_draw(input, p, train)) return result;
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
  if (const Tensor result = without_draw(input, p, train)) return result;
  return dropped(input, channel_mask(input, "feature_dropout"), p, 0, 1 / (1 - p), 0);
}

Tensor alpha_dropout(KeySet, const Tensor& input, double p, bool train) {
  if (const Tensor result = without_draw(input, p, train)) return result;
  return alpha_dropped(input, empty(input.sizes(), DType::kFloat64, input.device()), p);
}

Tensor feature_alpha_dropout(KeySet, const Tensor& input, double p, bool train) {
  if (const Tensor result = without_draw(input, p, train)) return result;
  return alpha_dropped(input, channel_mask(input, "feature_alpha_dropout"), p);
}

}  // namespace uh::kernels
