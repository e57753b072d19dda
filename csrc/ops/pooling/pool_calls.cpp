// Poolings when gradients are required, by operators that have gradients. A 1-d pooling is a 2-d
// pooling whose first dimension has size 1.
#include "generated/kernels/pooling.h"
#include "generated/ops/pooling.h"
#include "generated/ops/view.h"
#include "ops/pooling/shapes.h"

namespace uh::kernels {
namespace {

Dims after(int64_t first, const Dims& tail) {
  Dims both{first};
  for (int64_t v : tail) both.push_back(v);
  return both;
}
bool is_line(const Tensor& self, const Dims& values) {
  return (self.ndim() == 2 || self.ndim() == 3) && values.size() == 1;
}
Tensor tall(const Tensor& self) { return ops::unsqueeze(self, -2); }
Tensor flat(const Tensor& result) { return ops::squeeze(result, Dims{-2}); }

}  // namespace

std::tuple<Tensor, Tensor> max_pool1d_with_indices_calls(KeySet, const Tensor& self,
                                                         const Dims& kernel_size,
                                                         const Dims& stride, const Dims& padding,
                                                         const Dims& dilation, bool ceil_mode) {
  if (!is_line(self, kernel_size)) {  // raises
    return shapes::max_pool_with_indices("max_pool1d", self, 1, kernel_size, stride, padding,
                                         dilation, ceil_mode);
  }
  const auto [pooled, indices] = ops::max_pool2d_with_indices(
      tall(self), after(1, kernel_size), after(1, stride.empty() ? kernel_size : stride),
      after(0, padding), after(1, dilation), ceil_mode);
  return {flat(pooled), flat(indices)};
}

Tensor max_pool1d_calls(KeySet, const Tensor& self, const Dims& kernel_size, const Dims& stride,
                        const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return std::get<0>(
      ops::max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}
Tensor max_pool2d_calls(KeySet, const Tensor& self, const Dims& kernel_size, const Dims& stride,
                        const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return std::get<0>(
      ops::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}
Tensor max_pool3d_calls(KeySet, const Tensor& self, const Dims& kernel_size, const Dims& stride,
                        const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return std::get<0>(
      ops::max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor avg_pool1d_calls(KeySet, const Tensor& self, const Dims& kernel_size,
                        const Dims& stride, const Dims& padding, bool ceil_mode,
                        bool count_include_pad) {
  if (!is_line(self, kernel_size))
    return shapes::avg_pool("avg_pool1d", self, 1, kernel_size, stride, padding, ceil_mode, {});
  return flat(ops::avg_pool2d(tall(self), after(1, kernel_size),
                              after(1, stride.empty() ? kernel_size : stride), after(0, padding),
                              ceil_mode, count_include_pad, std::nullopt));
}

Tensor adaptive_avg_pool1d_calls(KeySet, const Tensor& self, const Dims& output_size) {
  if (!is_line(self, output_size))
    return shapes::adaptive_avg_pool("adaptive_avg_pool1d", self, 1, output_size);
  return flat(ops::adaptive_avg_pool2d(tall(self), after(1, output_size)));
}

std::tuple<Tensor, Tensor> adaptive_max_pool1d_calls(KeySet, const Tensor& self,
                                                     const Dims& output_size) {
  if (!is_line(self, output_size))
    return shapes::adaptive_max_pool("adaptive_max_pool1d", self, 1, output_size);
  const auto [pooled, indices] = ops::adaptive_max_pool2d(tall(self), after(1, output_size));
  return {flat(pooled), flat(indices)};
}

}  // namespace uh::kernels
