#include "backend/cpu/linalg/matrices.h"

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/gemm.h"
#include "backend/cpu/linalg/lapack.h"
#include "ops/geometry.h"

namespace uh {

Tensor column_major_copy(const Tensor& t, const Dims& sizes) {
  Tensor out = empty_column_major(sizes, t.dtype(), t.device());
  if (!out.is_meta()) copy_elements(out, t);
  return out;
}

void run_matrices(int64_t count, int64_t work, void (*body)(const void*, int64_t),
                  const void* context) {
  static const bool quiet = [] {
    scipy_LAPACKE_set_nancheck(0);  // NaNs propagate as in PyTorch
    return true;
  }();
  (void)quiet;
  const bool side_by_side = count > 1 && work < (int64_t{1} << 24);
  const bool short_call = work < (int64_t{1} << 21);  // which OpenBLAS's threads only delay
  set_blas_threads(side_by_side || short_call ? 1 : get_num_threads());
  const auto run = [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) body(context, i);
  };
  if (!side_by_side) return run(0, count);
  parallel_for(0, count, std::max<int64_t>(1, 65536 / std::max<int64_t>(work, 1)), run);
}

}  // namespace uh
