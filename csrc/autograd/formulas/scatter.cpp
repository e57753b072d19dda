#include "autograd/formulas/scatter.h"

#include "autograd/formulas/scatter_reduce.h"
#include "generated/ops/gather.h"
#include "generated/ops/scatter.h"

namespace uh::autograd {
namespace {

struct Scattered {
  const Tensor& index;
  int64_t dim;
  const std::string& reduce;
  bool include_self;

  Tensor read(const Tensor& t) const { return ops::gather(t, dim, index); }
  Tensor add(const Tensor& t, const Tensor& values) const {
    return ops::scatter_add(t, dim, index, values);
  }
  Tensor fold(const Tensor& t, const Tensor& values) const {
    return ops::scatter_reduce_two(t, dim, index, values, reduce, include_self);
  }
  Tensor clear(const Tensor& t) const { return ops::scatter_value(t, dim, index, Scalar(0)); }
};

}  // namespace

std::tuple<Tensor, Tensor> scatter_reduce_backward(const Tensor& grad, const Tensor& self,
                                                   int64_t dim, const Tensor& index,
                                                   const Tensor& src, const std::string& reduce,
                                                   bool include_self, const Tensor& result) {
  return folded_backward(grad, self, src, reduce, include_self, result,
                         Scattered{index, dim, reduce, include_self});
}

}  // namespace uh::autograd
