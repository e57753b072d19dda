// Optimizer steps on every device: their checks, and the coefficients of a step.
//
// A backend's kernel is `run(tensors, step)`: one step of one parameter.
#pragma once

#include <cmath>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace uh {

// g = sign * grad + decay * p;  buffer = first ? g : momentum * buffer + (1 - dampening) * g;
// p = p - lr * (nesterov ? g + momentum * buffer : buffer)
struct SgdStep {
  double lr, decay, momentum, dampening;
  double sign;  // -1 to maximize
  bool nesterov, first;
};

// g = sign * grad + decay * p;  m = m + rate1 * (g - m);  v = beta2 * v + rate2 * g * g;
// p = shrink * p - step_size * m / (scale * sqrt(v) + eps)
struct AdamStep {
  double rate1, rate2, beta2;  // 1 - beta1, 1 - beta2, beta2
  double decay, shrink;        // of L2; of decoupled weight decay
  double step_size, scale, eps;
  double sign;
};

// g = sign * grad + decay * p;  sum = sum + g * g;  p = p - rate * g / (sqrt(sum) + eps)
struct AdagradStep {
  double rate, decay, eps;
  double sign;
};

// A parameter, its gradient, then its state; empty where the step uses none.
class StepTensors {
 public:
  // Throws unless dtypes and sizes match.
  StepTensors(std::string_view op, std::vector<Tensor> tensors, const Tensor& grad_scale);

  const std::vector<Tensor>& all() const { return tensors_; }
  const Tensor& parameter() const { return tensors_[0]; }
  // If true, the gradient is first divided by scale() in place, as in PyTorch's fused steps.
  bool unscales() const { return unscales_; }
  double scale() const { return scale_; }
  // Copies back written copies, records events, bumps versions. `used` has the tensors, or the
  // copies that the step has written instead.
  void finish(const std::vector<Tensor>& used) const;

 private:
  std::vector<Tensor> tensors_;
  bool unscales_;
  double scale_ = 1;
};

namespace optimizer {

using Tensors = std::vector<Tensor>;

void check_lengths(std::string_view op, const Tensors& self,
                   std::initializer_list<const Tensors*> others);
// Returns the value of a one-element tensor; 1 for a meta tensor.
double number_of(const Tensor& t, std::string_view op, std::string_view argument);
// Returns whether gradient scaling's `found_inf` skips this step.
bool skipped(std::string_view op, const Tensor& found_inf);

template <class Run>
int64_t sgd(const Tensors& self, const Tensors& grads, const Tensors& buffers, double weight_decay,
            double momentum, double lr, double dampening, bool nesterov, bool maximize,
            bool is_first_step, const Tensor& grad_scale, const Tensor& found_inf, const Run& run) {
  constexpr std::string_view kOp = "_fused_sgd_";
  check_lengths(kOp, self, {&grads});
  if (momentum != 0) check_lengths(kOp, self, {&buffers});
  const SgdStep step{lr,       weight_decay, momentum, dampening, maximize ? -1.0 : 1.0,
                     nesterov, is_first_step};
  const bool skips = skipped(kOp, found_inf);
  for (size_t i = 0; i < self.size() && !skips; ++i)
    run(StepTensors(kOp, {self[i], grads[i], momentum != 0 ? buffers[i] : Tensor()}, grad_scale),
        step);
  return static_cast<int64_t>(self.size());
}

struct AdamNumbers {
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize, decoupled;
};

template <class Run>
int64_t adam(const Tensors& self, const Tensors& grads, const Tensors& means,
             const Tensors& squares, const Tensors& largest, const Tensors& counts,
             const AdamNumbers& n, const Tensor& grad_scale, const Tensor& found_inf,
             const Run& run) {
  const std::string_view op = n.decoupled ? "_fused_adamw_" : "_fused_adam_";
  check_lengths(op, self, {&grads, &means, &squares, &counts});
  if (n.amsgrad) check_lengths(op, self, {&largest});
  const bool skips = skipped(op, found_inf);
  for (size_t i = 0; i < self.size() && !skips; ++i) {
    const double count = number_of(counts[i], op, "state_steps");
    const AdamStep step{.rate1 = 1 - n.beta1,
                        .rate2 = 1 - n.beta2,
                        .beta2 = n.beta2,
                        .decay = n.decoupled ? 0 : n.weight_decay,
                        .shrink = n.decoupled ? 1 - n.lr * n.weight_decay : 1,
                        .step_size = n.lr / (1 - std::pow(n.beta1, count)),
                        .scale = 1 / std::sqrt(1 - std::pow(n.beta2, count)),
                        .eps = n.eps,
                        .sign = n.maximize ? -1.0 : 1.0};
    run(StepTensors(op,
                    {self[i], grads[i], means[i], squares[i], n.amsgrad ? largest[i] : Tensor()},
                    grad_scale),
        step);
  }
  return static_cast<int64_t>(self.size());
}

template <class Run>
int64_t adagrad(const Tensors& self, const Tensors& grads, const Tensors& sums,
                const Tensors& counts, double lr, double lr_decay, double weight_decay, double eps,
                bool maximize, const Tensor& grad_scale, const Tensor& found_inf, const Run& run) {
  constexpr std::string_view kOp = "_fused_adagrad_";
  check_lengths(kOp, self, {&grads, &sums, &counts});
  const bool skips = skipped(kOp, found_inf);
  for (size_t i = 0; i < self.size() && !skips; ++i) {
    const double count = number_of(counts[i], kOp, "state_steps");
    run(StepTensors(kOp, {self[i], grads[i], sums[i]}, grad_scale),
        AdagradStep{lr / (1 + (count - 1) * lr_decay), weight_decay, eps, maximize ? -1.0 : 1.0});
  }
  return static_cast<int64_t>(self.size());
}

}  // namespace optimizer
}  // namespace uh
