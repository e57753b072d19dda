#include "autograd/formulas/join.h"

#include "generated/ops/creation.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"

namespace uh::autograd {

std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<TensorInfo>& parts,
                                 int64_t dim) {
  const int64_t d = dim < 0 ? dim + grad.ndim() : dim;
  std::vector<Tensor> result;
  int64_t start = 0;
  for (const TensorInfo& part : parts) {
    if (part.ndim() == 1 && part.numel() == 0) {  // cat skips it, whatever the others' rank
      result.push_back(ops::zeros(part.sizes(), grad.dtype(), grad.device()));
      continue;
    }
    result.push_back(ops::narrow(grad, d, start, part.size(d)));
    start += part.size(d);
  }
  return result;
}

// Views each dimension as (repeat, size) and sums over the repeats.
Tensor repeat_backward(const Tensor& grad, const Dims& sizes, const Dims& repeats) {
  const size_t lead = repeats.size() - sizes.size();
  Dims split, summed;
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (d < lead || repeats[d] != 1) {
      summed.push_back(split.ndim());
      split.push_back(repeats[d]);
    }
    if (d >= lead) split.push_back(sizes[d - lead]);
  }
  if (summed.empty()) return grad;
  return ops::sum(ops::reshape(grad, split), summed, false);
}

Dims opposite(const Dims& shifts) {
  Dims result = shifts;
  for (int64_t& shift : result) shift = -shift;
  return result;
}

}  // namespace uh::autograd
