#include "autograd/formulas/pooling.h"

#include "generated/ops/gather.h"
#include "generated/ops/pooling.h"
#include "generated/ops/view.h"

namespace uh::autograd {

Tensor taken_at(const Tensor& grad, const Tensor& indices, int64_t dims) {
  const auto planes = [&](const Tensor& t) {
    Dims sizes(IntSpan(t.sizes()).first(t.sizes().size() - static_cast<size_t>(dims)));
    int64_t plane = 1;
    for (int64_t d = t.ndim() - dims; d < t.ndim(); ++d) plane *= t.size(d);
    sizes.push_back(plane);
    return ops::reshape(t, sizes);
  };
  return ops::reshape(ops::gather(planes(grad), -1, planes(indices), false), indices.sizes());
}

Tensor adaptive_averages(const Tensor& grad, const Dims& sizes, int64_t dims) {
  const Dims requested(IntSpan(sizes).last(static_cast<size_t>(dims)));
  return dims == 2 ? ops::adaptive_avg_pool2d(grad, requested)
                   : ops::adaptive_avg_pool3d(grad, requested);
}

}  // namespace uh::autograd
