// The gradient of nll_loss: minus the weight at each target, zero elsewhere.
#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/cross_entropy.h"
#include "ops/cross_entropy/scores.h"

namespace uh::kernels {
namespace {

// Writes the gradients of the targets' scores to `out`; `grad` has one element or one per target.
template <class T>
void place_all(T* out, const Scores& s, const T* grad, bool one_grad, const int64_t* target,
               const T* weight, int64_t ignored, double scale) {
  parallel_for(0, s.positions(), 16384, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      const int64_t t = target[i];
      if (t == ignored) continue;
      check_kind(t >= 0 && t < s.classes, ErrorKind::kIndex, "nll_loss_backward: Target ", t,
                 " is out of bounds for ", s.classes, " classes");
      const int64_t w = i % s.w, h = i / s.w % s.h, n = i / s.w / s.h;
      const double own = weight ? static_cast<double>(weight[t]) : 1.0;
      const double result = -static_cast<double>(grad[one_grad ? 0 : i]) * own * scale;
      T& at = out[n * s.by_n + h * s.by_h + w * s.by_w + t * s.by_class];
      if constexpr (std::is_same_v<T, double>)
        at = result;
      else
        at = T(static_cast<float>(result));
    }
  });
}

void placed(const Tensor& grad_output, const Tensor& self, const Tensor& target,
            const Tensor& weight, int64_t reduction, int64_t ignore_index,
            const Tensor& total_weight, const Scores& s, const Tensor& out) {
  fill_elements(out, ElementBytes{});
  const Tensor grad = as_contiguous(grad_output, self.dtype());
  const Tensor numbers = as_contiguous(target, DType::kInt64);
  const Tensor own = weight ? as_contiguous(weight, self.dtype()) : weight;
  const double scale = reduction == kMeanLoss ? 1 / read_scalar(total_weight).to_double() : 1.0;
  visit(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>)
      place_all(out.data_as<T>(), s, grad.data_as<T>(), grad.numel() == 1,
                numbers.data_as<int64_t>(), own ? own.data_as<T>() : nullptr, ignore_index, scale);
  });
}

}  // namespace

void nll_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                       const Tensor& weight, int64_t reduction, int64_t ignore_index,
                       const Tensor& total_weight, const Tensor& result) {
  placed(grad_output, self, target, weight, reduction, ignore_index, total_weight,
         read_rows(result), result);
}
void nll_loss2d_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                         const Tensor& weight, int64_t reduction, int64_t ignore_index,
                         const Tensor& total_weight, const Tensor& result) {
  placed(grad_output, self, target, weight, reduction, ignore_index, total_weight,
         read_pictures(result), result);
}

}  // namespace uh::kernels
