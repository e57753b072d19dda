// The kernels of complex.yaml that write a part of each element.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/fft_loops.h"
#include "base/parallel.h"
#include "generated/kernels/complex.h"
#include "generated/ops/arithmetic.h"
#include "ops/complex/shapes.h"

namespace uh::kernels {
namespace {

template <class R>
void interleave(const Tensor& real, const Tensor& imag, const Tensor& result) {
  parallel_for(0, result.numel(), 32768, [&](int64_t lo, int64_t hi) {
    fft_loops().of<R>().join(result.data_as<R>() + 2 * lo, real.data_as<R>() + lo,
                             imag.data_as<R>() + lo, hi - lo, R(1));
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
      return interleave<float>(as_contiguous(real), as_contiguous(imag), result);
    if (result.dtype() == DType::kComplex128 && real.dtype() == DType::kFloat64)
      return interleave<double>(as_contiguous(real), as_contiguous(imag), result);
  }
  copy_elements(complex_part(result, 0), real);
  copy_elements(complex_part(result, 1), imag);
}

}  // namespace uh::kernels
