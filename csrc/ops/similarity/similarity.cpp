// The composite of similarity.yaml.
#include "generated/kernels/similarity.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/norms.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "ops/pointwise.h"

namespace uh::kernels {

Tensor cosine_similarity(KeySet, const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const Input both[] = {x1, x2};
  const DType dtype = result_type(both);
  check(is_floating(dtype),
        "cosine_similarity: expected common dtype to be floating point, yet common dtype is ",
        info(dtype).title);
  const Dims sizes = broadcast_shapes(x1.sizes(), x2.sizes());
  const auto direction = [&](const Tensor& input) {
    Tensor x = input;
    if (x.dtype() != dtype)
      x = ops::_to_copy(x, dtype, Device::kUndefined, MemoryFormat::kUndefined);
    x = ops::expand(x, sizes, false);
    const Tensor norm = ops::linalg_vector_norm(x, Scalar(2), Dims{dim}, true, DType::kUndefined);
    return ops::div(x, ops::clamp_min(norm, Scalar(eps)));
  };
  return ops::sum(ops::mul(direction(x1), direction(x2)), Dims{dim}, false, DType::kUndefined);
}

}  // namespace uh::kernels
