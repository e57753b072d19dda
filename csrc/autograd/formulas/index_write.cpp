#include "autograd/formulas/index_write.h"

#include "autograd/formulas/scatter_reduce.h"
#include "generated/ops/creation.h"
#include "generated/ops/gather.h"
#include "generated/ops/index_write.h"
#include "generated/ops/reduce.h"
#include "generated/ops/unique.h"
#include "generated/ops/view.h"

namespace uh::autograd {
namespace {

struct Slices {
  const Tensor& index;
  int64_t dim;
  const std::string& reduce;
  bool include_self;

  Tensor read(const Tensor& t) const { return ops::index_select(t, dim, index); }
  Tensor add(const Tensor& t, const Tensor& values) const {
    return ops::index_add(t, dim, index, values);
  }
  Tensor fold(const Tensor& t, const Tensor& values) const {
    return ops::index_reduce(t, dim, index, values, reduce, include_self);
  }
  Tensor clear(const Tensor& t) const {
    return ops::index_fill_int_Scalar(t, dim, index, Scalar(0));
  }
};

}  // namespace

Tensor index_source_backward(const Tensor& grad, int64_t dim, const Tensor& index,
                             const Dims& sizes) {
  const Tensor selected = ops::index_select(grad, dim, index);
  if (selected.sizes() == sizes) return selected;
  return selected.numel() == numel_of(sizes) ? ops::reshape(selected, sizes)
                                             : ops::expand(selected, sizes, false);
}

Tensor filled_value_backward(const Tensor& grad, int64_t dim, const Tensor& index) {
  const int64_t size = grad.ndim() ? grad.size(dim < 0 ? dim + grad.ndim() : dim) : 1;
  const Tensor positions = ops::remainder(index, Scalar(std::max<int64_t>(size, 1)));
  const Tensor once = std::get<0>(ops::_unique2(positions, true, false, false));
  return ops::sum(ops::index_select(grad, dim, once), std::nullopt, false);
}

std::tuple<Tensor, Tensor> index_reduce_backward(const Tensor& grad, const Tensor& self,
                                                 int64_t dim, const Tensor& index,
                                                 const Tensor& source, const std::string& reduce,
                                                 bool include_self, const Tensor& result) {
  return folded_backward(grad, self, source, reduce, include_self, result,
                         Slices{index, dim, reduce, include_self});
}

Tensor put_self_backward(const Tensor& grad, const Tensor& index, const Dims& sizes,
                         bool accumulate) {
  if (accumulate) return grad;
  return ops::put(grad, index, ops::zeros(sizes, grad.dtype(), grad.device()), false);
}

}  // namespace uh::autograd
