// The kernels of complex.yaml that write a part of each element.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/fft_loops.h"
#include "base/parallel.h"
#include "generated/kernels/complex.h"
#include "generated/ops/arithmetic.h"
#include "ops/complex/shapes.h"
#include "ops/geometry.h"

namespace uh::kernels {
namespace {

template <class R>
void interleave(const Tensor& real, const Tensor& imag, const Tensor& result) {
  if (result.numel() == 0) return;
  const auto g = make_geometry<3>(
      result.sizes(),
      {IntSpan(result.strides()), IntSpan(real.strides()), IntSpan(imag.strides())});
  if (g.rows() > 1) return interleave<R>(as_contiguous(real), as_contiguous(imag), result);
  const int64_t re_step = g.row_stride(1), im_step = g.row_stride(2);
  parallel_for(0, g.row(), 32768, [&](int64_t lo, int64_t hi) {
    fft_loops().of<R>().join_apart(result.data_as<R>() + 2 * lo, real.data_as<R>() + lo * re_step,
                                   re_step, imag.data_as<R>() + lo * im_step, im_step, hi - lo);
  });
}

}  // namespace

void conj_physical_inplace(KeySet, const Tensor& self) {
  if (is_complex(self.dtype()) && !self.is_meta())
    ops::neg__op.redispatch(KeySet(Key::kCPU), complex_part(self, 1));
}

void complex(const Tensor& real, const Tensor& imag, const Tensor& result) {
  if (result.is_contiguous() && real.sizes() == imag.sizes() && real.dtype() == imag.dtype()) {
    if (result.dtype() == DType::kComplex64 && real.dtype() == DType::kFloat32)
      return interleave<float>(real, imag, result);
    if (result.dtype() == DType::kComplex128 && real.dtype() == DType::kFloat64)
      return interleave<double>(real, imag, result);
  }
  copy_elements(complex_part(result, 0), real);
  copy_elements(complex_part(result, 1), imag);
}

}  // namespace uh::kernels
