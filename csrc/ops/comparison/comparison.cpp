// The operators of comparison.yaml that call others.
#include "generated/kernels/comparison.h"
#include "generated/ops/comparison.h"
#include "generated/ops/reduce.h"
#include "ops/copy/element.h"

namespace uh::kernels {
namespace {

void check_ordered(const Tensor& self) {
  check_kind(!is_complex(self.dtype()), ErrorKind::kNotImplemented,
             "clamp is not supported for complex types, got ", name(self.dtype()));
}

bool all_true(const Tensor& result, const char* op) {
  check_kind(!result.is_meta(), ErrorKind::kNotImplemented, op,
             ": a meta tensor has no elements to look at");
  return read_scalar(ops::all(result, std::nullopt, false)).to_bool();
}

}  // namespace

Tensor clamp_tensors(KeySet, const Tensor& self, const Tensor& min, const Tensor& max) {
  check_ordered(self);
  check(min || max, "clamp: at least one of 'min' or 'max' must not be None");
  if (min && max) return ops::_clamp_both(self, min, max);
  return min ? ops::maximum(self, min) : ops::minimum(self, max);
}

Tensor clamp_min_tensor(KeySet, const Tensor& self, const Tensor& min) {
  check_ordered(self);
  return ops::maximum(self, min);
}

Tensor clamp_max_tensor(KeySet, const Tensor& self, const Tensor& max) {
  check_ordered(self);
  return ops::minimum(self, max);
}

bool allclose(KeySet, const Tensor& self, const Tensor& other, double rtol, double atol,
              bool equal_nan) {
  return all_true(ops::isclose(self, other, rtol, atol, equal_nan), "allclose");
}

bool equal(KeySet, const Tensor& self, const Tensor& other) {
  if (!(self.sizes() == other.sizes())) return false;
  return all_true(ops::eq(self, other), "equal");
}

}  // namespace uh::kernels
