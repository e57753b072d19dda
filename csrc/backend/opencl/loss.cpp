// nll_loss on an OpenCL device.
#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"
#include "generated/structured/cross_entropy.h"
#include "ops/cross_entropy/scores.h"

namespace uh::opencl {
namespace {

// The struct that loss.cl declares.
struct KernelScores {
  int64_t h, w, classes, by_n, by_h, by_w, by_class;

  explicit KernelScores(const Scores& s)
      : h(s.h),
        w(s.w),
        classes(s.classes),
        by_n(s.by_n),
        by_h(s.by_h),
        by_w(s.by_w),
        by_class(s.by_class) {}
};

// The code of a reduction in the kernels: 0 none, 1 mean, 2 sum. One row is reduced, too.
int32_t kernel_reduction(const Tensor& self, int64_t reduction) {
  if (keeps_losses(self, reduction)) return 0;
  return reduction == kMeanLoss ? 1 : 2;
}

auto not_a_class(std::string_view op, int64_t classes) {
  return [=](int64_t target) {
    fail(ErrorKind::kIndex, op, ": Target ", target, " is out of bounds for ", classes, " classes");
  };
}

void nll_forward(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                 int64_t ignore_index, const Scores& s, const Tensor& output,
                 const Tensor& total_weight) {
  static const Source source{sources::loss, "nll_loss"};
  const Kernel& kernel = source.kernel(self.device(), computes(self.dtype()));
  const size_t lanes = std::min<size_t>(kernel.device.is_cpu ? 16 : 256, kernel.largest_group);
  const size_t item = self.dtype() == DType::kFloat64 ? sizeof(double) : sizeof(float);
  const IndexCheck outside(self.device());
  launch(kernel, groups_of(1, lanes), self, contiguous(target, DType::kInt64),
         weight ? contiguous(weight) : self, output, total_weight, outside.tensor(),
         LocalMemory{2 * lanes * item}, KernelScores(s), int32_t{static_cast<bool>(weight)},
         kernel_reduction(self, reduction), ignore_index, s.positions());
  outside.finish(not_a_class("nll_loss", s.classes));
}

void nll_backward(const Tensor& grad_output, const Tensor& target, const Tensor& weight,
                  int64_t reduction, int64_t ignore_index, const Tensor& total_weight,
                  const Scores& s, const Tensor& result) {
  static const Source source{sources::loss, "nll_loss_backward"};
  if (result.numel() == 0) return;
  fill({}, result, Scalar(0));
  const Kernel& kernel = source.kernel(result.device(), computes(result.dtype()));
  const IndexCheck outside(result.device());
  launch_items(kernel, s.positions(), contiguous(grad_output, result.dtype()),
               contiguous(target, DType::kInt64),
               weight ? contiguous(weight, result.dtype()) : result,
               contiguous(total_weight, result.dtype()), result, outside.tensor(), KernelScores(s),
               int32_t{static_cast<bool>(weight)}, int32_t{grad_output.numel() == 1},
               int32_t{reduction == kMeanLoss}, ignore_index);
  outside.finish(not_a_class("nll_loss_backward", s.classes));
}

void nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
              int64_t ignore_index, const Tensor& output, const Tensor& total_weight) {
  nll_forward(self, target, weight, reduction, ignore_index, read_rows(self), output, total_weight);
}
void nll_loss2d(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore_index, const Tensor& output, const Tensor& total_weight) {
  nll_forward(self, target, weight, reduction, ignore_index, read_pictures(self), output,
              total_weight);
}
void nll_loss_backward(const Tensor& grad_output, const Tensor&, const Tensor& target,
                       const Tensor& weight, int64_t reduction, int64_t ignore_index,
                       const Tensor& total_weight, const Tensor& result) {
  nll_backward(grad_output, target, weight, reduction, ignore_index, total_weight,
               read_rows(result), result);
}
void nll_loss2d_backward(const Tensor& grad_output, const Tensor&, const Tensor& target,
                         const Tensor& weight, int64_t reduction, int64_t ignore_index,
                         const Tensor& total_weight, const Tensor& result) {
  nll_backward(grad_output, target, weight, reduction, ignore_index, total_weight,
               read_pictures(result), result);
}

constexpr auto kScores = [](const auto&, const Tensor& self, const auto&...) {
  return is_computed(self);
};

}  // namespace

void register_loss() {
  namespace s = structured;
  register_partial<ops::nll_loss_forward_op, kFloatingFirst, s::nll_loss_forward<nll_loss>>(
      "opencl nll_loss_forward");
  register_partial<ops::nll_loss2d_forward_op, kFloatingFirst, s::nll_loss2d_forward<nll_loss2d>>(
      "opencl nll_loss2d_forward");
  register_partial<ops::nll_loss_backward_op, kScores, s::nll_loss_backward<nll_loss_backward>>(
      "opencl nll_loss_backward");
  register_partial<ops::nll_loss2d_backward_op, kScores,
                   s::nll_loss2d_backward<nll_loss2d_backward>>("opencl nll_loss2d_backward");
}

}  // namespace uh::opencl
