// The shape rule, views and composites of complex.yaml.
#include "generated/kernels/complex.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/complex.h"
#include "generated/ops/linalg.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"
#include "ops/complex/shapes.h"
#include "ops/copy/write_out.h"
#include "ops/overlap.h"
#include "ops/pointwise_result.h"

namespace uh {
namespace {

Tensor relabelled(const Tensor& self, Layout layout, DType dtype) {
  return alias(self, std::move(layout), dtype, self.impl()->own_counter());
}

void check_parts(const Tensor& a, const Tensor& b) {
  const auto usable = [](DType t) { return t == DType::kFloat32 || t == DType::kFloat64; };
  check(usable(a.dtype()) && usable(b.dtype()),
        "Expected both inputs to be Float or Double tensors but got ", info(a.dtype()).title,
        " and ", info(b.dtype()).title);
  check(a.dtype() == b.dtype(), "Expected object of scalar type ", info(a.dtype()).title,
        " but got scalar type ", info(b.dtype()).title, " for second argument");
}

}  // namespace

Tensor complex_part(const Tensor& self, int64_t which) {
  Layout layout = self.impl()->layout();
  for (int64_t& stride : layout.strides) stride *= 2;
  layout.offset = layout.offset * 2 + which;
  return relabelled(self, std::move(layout), to_real(self.dtype()));
}

}  // namespace uh

namespace uh::shapes {

Tensor complex(const Tensor& real, const Tensor& imag) {
  check_parts(real, imag);
  return empty_pointwise_result(std::array<Input, 2>{real, imag}, to_complex(real.dtype()),
                                real.device());
}

}  // namespace uh::shapes

namespace uh::kernels {
namespace {

void check_out(const Tensor& out, DType result_dtype) {
  check(out.dtype() == result_dtype, "Expected object of scalar type ", info(result_dtype).title,
        " but got scalar type ", info(out.dtype()).title, " for argument 'out'");
}

}  // namespace

Tensor real_view(KeySet, const Tensor& self) {
  check(is_complex(self.dtype()),
        "real_view is not implemented for tensors with non-complex dtypes.");
  return complex_part(self, 0);
}
Tensor imag_view(KeySet, const Tensor& self) {
  check(is_complex(self.dtype()), "imag is not implemented for tensors with non-complex dtypes.");
  return complex_part(self, 1);
}

Tensor view_as_real(KeySet, const Tensor& self) {
  check(is_complex(self.dtype()), "view_as_real is only supported for complex tensors, got ",
        name(self.dtype()));
  Layout layout = complex_part(self, 0).impl()->layout();
  layout.sizes.push_back(2);
  layout.strides.push_back(1);
  return relabelled(self, std::move(layout), to_real(self.dtype()));
}

Tensor view_as_complex(KeySet, const Tensor& self) {
  const DType dtype = self.dtype();
  check(dtype == DType::kFloat32 || dtype == DType::kFloat64,
        "view_as_complex is only supported for float and double tensors, but got a tensor of "
        "scalar type: ",
        info(dtype).title);
  check(self.ndim() > 0, "view_as_complex: Input tensor must have one or more dimensions");
  Layout layout = self.impl()->layout();
  const size_t last = layout.sizes.size() - 1;
  check(layout.sizes[last] == 2,
        "view_as_complex: Tensor must have a last dimension of size 2, got ", self.sizes());
  check(layout.strides[last] == 1,
        "view_as_complex: Tensor must have a last dimension with stride 1, got strides ",
        self.strides());
  layout.sizes.erase(last);
  layout.strides.erase(last);
  for (size_t d = 0; d < last; ++d) {
    int64_t& stride = layout.strides[d];
    check(stride % 2 == 0 || layout.sizes[d] == 1,  // no element uses the stride
          "view_as_complex: Tensor must have a stride divisible by 2 for all but last dimension, "
          "got strides ",
          self.strides());
    stride /= 2;
  }
  check(layout.offset % 2 == 0,
        "view_as_complex: Tensor must have a storage_offset divisible by 2, got ", layout.offset);
  layout.offset /= 2;
  return relabelled(self, std::move(layout), to_complex(dtype));
}

Tensor conj(KeySet, const Tensor& self) {
  return is_complex(self.dtype()) ? ops::_conj(self) : self;
}
Tensor conj_physical(KeySet, const Tensor& self) {
  return is_complex(self.dtype()) ? ops::_conj_physical(self) : self;
}

Tensor resolved(KeySet, const Tensor& self) { return self; }

Tensor adjoint(KeySet, const Tensor& self) {
  if (self.ndim() == 0) return ops::conj(self);
  check(self.ndim() > 1,
        "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.");
  return ops::conj(ops::transpose(self, -2, -1));
}

Tensor polar(KeySet, const Tensor& abs, const Tensor& angle) {
  check_parts(abs, angle);
  return ops::complex(ops::mul(abs, ops::cos(angle)), ops::mul(abs, ops::sin(angle)));
}

void complex_out(KeySet, const Tensor& real, const Tensor& imag, const Tensor& out) {
  const Tensor result = ops::complex(real, imag);
  check_out(out, result.dtype());
  for (const Tensor* part : {&real, &imag})
    check_out_overlap(out, result.sizes(), *part, false, "complex");
  write_out(out, result, "complex");
}
void polar_out(KeySet keys, const Tensor& abs, const Tensor& angle, const Tensor& out) {
  const Tensor result = polar(keys, abs, angle);
  check_out(out, result.dtype());
  for (const Tensor* part : {&abs, &angle})
    check_out_overlap(out, result.sizes(), *part, false, "polar");
  write_out(out, result, "polar");
}

Tensor vdot(KeySet, const Tensor& self, const Tensor& other) {
  return ops::dot(ops::conj(self), other);
}
void vdot_out(KeySet keys, const Tensor& self, const Tensor& other, const Tensor& out) {
  check(out.dtype() == self.dtype(), "result dtype ", info(out.dtype()).title,
        " does not match input dtype ", info(self.dtype()).title);
  write_out(out, vdot(keys, self, other), "vdot");
}

}  // namespace uh::kernels
