// Optimizer steps on an OpenCL device: one kernel for each parameter. Nothing is read back, unless
// a count of steps is on the device.
#include "generated/ops/optim.h"
#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"
#include "ops/optim/steps.h"

namespace uh::opencl {
namespace {

using optimizer::Tensors;

// The structs that optim.cl declares. T: the type in which the parameter's dtype is computed.
template <class T>
struct Gradient {
  T sign, decay, scale;
  int32_t unscales;
};
template <class T>
struct Sgd {
  T lr, momentum, dampening;
  int32_t nesterov, first;
};
template <class T>
struct Adam {
  T rate1, rate2, beta2, shrink, step_size, scale, eps;
};
template <class T>
struct Adagrad {
  T rate, eps;
};

// Runs the kernel `function` of optim.cl over row-major tensors, with the parameter in place of a
// missing tensor. numbers(T{}) returns the numbers of this step.
template <class Step, class Numbers>
void run(const Source& source, const StepTensors& tensors, const Step& step,
         const Numbers& numbers) {
  std::vector<Tensor> used;
  for (const Tensor& t : tensors.all()) used.push_back(t ? contiguous(t) : Tensor());
  const Tensor& parameter = used[0];
  const auto launch_in = [&](auto zero) {
    using T = decltype(zero);
    Arguments arguments(source.kernel(parameter.device(), computes(parameter.dtype())));
    for (const Tensor& t : used) arguments.add(t ? t : parameter);
    arguments.add(Gradient<T>{T(step.sign), T(step.decay), T(tensors.scale()), tensors.unscales()});
    numbers(zero, arguments, static_cast<bool>(used.back()));
    launch_items(arguments, parameter.numel());
  };
  if (parameter.numel())
    parameter.dtype() == DType::kFloat64 ? launch_in(double{}) : launch_in(float{});
  tensors.finish(used);
}

int64_t sgd(KeySet, const Tensors& self, const Tensors& grads, const Tensors& momentum_buffer_list,
            double weight_decay, double momentum, double lr, double dampening, bool nesterov,
            bool maximize, bool is_first_step, const Tensor& grad_scale, const Tensor& found_inf) {
  static const Source source{sources::optim, "sgd"};
  return optimizer::sgd(
      self, grads, momentum_buffer_list, weight_decay, momentum, lr, dampening, nesterov, maximize,
      is_first_step, grad_scale, found_inf, [](const StepTensors& tensors, const SgdStep& s) {
        run(source, tensors, s, [&](auto zero, Arguments& arguments, bool has) {
          using T = decltype(zero);
          arguments.add(Sgd<T>{T(s.lr), T(s.momentum), T(s.dampening), s.nesterov, s.first});
          arguments.add(int32_t{has});
        });
      });
}

template <bool decoupled>
int64_t adam(KeySet, const Tensors& self, const Tensors& grads, const Tensors& exp_avgs,
             const Tensors& exp_avg_sqs, const Tensors& max_exp_avg_sqs, const Tensors& state_steps,
             double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
             bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  static const Source source{sources::optim, "adam"};
  return optimizer::adam(
      self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
      {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled}, grad_scale, found_inf,
      [](const StepTensors& tensors, const AdamStep& s) {
        run(source, tensors, s, [&](auto zero, Arguments& arguments, bool has_largest) {
          using T = decltype(zero);
          arguments.add(Adam<T>{T(s.rate1), T(s.rate2), T(s.beta2), T(s.shrink), T(s.step_size),
                                T(s.scale), T(s.eps)});
          arguments.add(int32_t{has_largest});
        });
      });
}

int64_t adagrad(KeySet, const Tensors& self, const Tensors& grads, const Tensors& state_sums,
                const Tensors& state_steps, double lr, double lr_decay, double weight_decay,
                double eps, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  static const Source source{sources::optim, "adagrad"};
  return optimizer::adagrad(self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps,
                            maximize, grad_scale, found_inf,
                            [](const StepTensors& tensors, const AdagradStep& s) {
                              run(source, tensors, s, [&](auto zero, Arguments& arguments, bool) {
                                using T = decltype(zero);
                                arguments.add(Adagrad<T>{T(s.rate), T(s.eps)});
                              });
                            });
}

// True if the device computes all parameters.
constexpr auto kParameters = [](const Tensors& self, const auto&...) {
  for (const Tensor& t : self)
    if (!is_computed(t)) return false;
  return true;
};

}  // namespace

void register_optim() {
  register_partial<ops::_fused_adam__op, kParameters, adam<false>>("opencl _fused_adam_");
  register_partial<ops::_fused_adamw__op, kParameters, adam<true>>("opencl _fused_adamw_");
  register_partial<ops::_fused_sgd__op, kParameters, sgd>("opencl _fused_sgd_");
  register_partial<ops::_fused_adagrad__op, kParameters, adagrad>("opencl _fused_adagrad_");
}

}  // namespace uh::opencl
