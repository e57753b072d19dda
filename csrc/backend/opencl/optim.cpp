// Optimizer steps on an OpenCL device: one kernel for each parameter. Nothing is read back, unless
// a count of steps is on the device.
#include <cmath>

#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"
#include "generated/ops/optim.h"
#include "ops/copy/element.h"
#include "ops/overlap.h"
#include "tensor/call_scope.h"

namespace uh::opencl {
namespace {

using Tensors = std::vector<Tensor>;

void check_lengths(std::string_view op, const Tensors& self,
                   std::initializer_list<const Tensors*> others) {
  for (const Tensors* list : others)
    check(list->size() == self.size(), op, ": expected lists of the same length, got ", self.size(),
          " params and ", list->size());
  for (const Tensor& t : self) check(t.device() == self[0].device(), op, ": several devices");
}

double scalar_of(const Tensor& t, std::string_view op, std::string_view argument_name) {
  check(t.numel() == 1, op, ": ", argument_name, " must have one element, got sizes ", t.sizes());
  return read_scalar(t).to_double();
}

bool skipped(std::string_view op, const Tensor& found_inf) {
  return found_inf && scalar_of(found_inf, op, "found_inf") == 1;
}

// A parameter with what belongs to it, row-major; what was written is copied back where that is not
// how it lies.
class Parts {
 public:
  // The parameter, its gradient, then its state; an undefined one is stood for by the parameter.
  Parts(std::string_view op, std::initializer_list<Tensor> parts, bool writes_gradient)
      : arguments_(parts), writes_gradient_(writes_gradient) {
    const Tensor& parameter = arguments_[0];
    check(is_floating(parameter.dtype()), op, ": expected floating point parameters, got ",
          name(parameter.dtype()));
    for (const Tensor& t : arguments_) {
      if (!t) {
        used_.push_back(used_[0]);
        continue;
      }
      check(t.dtype() == parameter.dtype() && t.sizes() == parameter.sizes(), op,
            ": params, grads and state must have the same dtype and sizes, got ",
            name(parameter.dtype()), " ", parameter.sizes(), " and ", name(t.dtype()), " ",
            t.sizes());
      check_no_internal_overlap(t, op);
      used_.push_back(contiguous(t));
    }
  }
  const Tensor& operator[](size_t i) const { return used_[i]; }
  int64_t numel() const { return used_[0].numel(); }
  const Kernel& kernel(const Source& source) const {
    return source.kernel(used_[0].device(), computes(used_[0].dtype()));
  }
  void finish() const {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Tensor& t = arguments_[i];
      if (!t || (i == 1 && !writes_gradient_)) continue;
      if (!used_[i].is_same(t)) copy_elements(t, used_[i]);
      record_write(t);
      t.impl()->bump_version(current_call());
    }
  }

 private:
  std::vector<Tensor> arguments_, used_;
  bool writes_gradient_;
};

// f(T{}): T is what the parameter's dtype is computed in.
template <class F>
void in_type(const Tensor& parameter, const F& f) {
  parameter.dtype() == DType::kFloat64 ? f(double{}) : f(float{});
}

// As optim.cl declares them.
template <class T>
struct Adam {
  T rate1, rate2, beta2, decay, shrink, step_size, scale, eps, sign, unscale;
};
template <class T>
struct Sgd {
  T lr, decay, momentum, dampening, sign, unscale;
};
template <class T>
struct Adagrad {
  T rate, decay, eps, sign, unscale;
};

template <bool decoupled>
int64_t adam(KeySet, const Tensors& self, const Tensors& grads, const Tensors& exp_avgs,
             const Tensors& exp_avg_sqs, const Tensors& max_exp_avg_sqs, const Tensors& state_steps,
             double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad,
             bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  constexpr std::string_view kOp = decoupled ? "_fused_adamw_" : "_fused_adam_";
  static const Source source{sources::optim, "adam"};
  check_lengths(kOp, self, {&grads, &exp_avgs, &exp_avg_sqs, &state_steps});
  if (amsgrad) check_lengths(kOp, self, {&max_exp_avg_sqs});
  const auto tensors = static_cast<int64_t>(self.size());
  if (skipped(kOp, found_inf)) return tensors;
  const double scale = grad_scale ? scalar_of(grad_scale, kOp, "grad_scale") : 1;
  for (size_t i = 0; i < self.size(); ++i) {
    const double count = scalar_of(state_steps[i], kOp, "state_steps");
    const Parts parts(
        kOp,
        {self[i], grads[i], exp_avgs[i], exp_avg_sqs[i], amsgrad ? max_exp_avg_sqs[i] : Tensor()},
        static_cast<bool>(grad_scale));
    in_type(self[i], [&](auto zero) {
      using T = decltype(zero);
      const Adam<T> step{T(1 - beta1),
                         T(1 - beta2),
                         T(beta2),
                         T(decoupled ? 0 : weight_decay),
                         T(decoupled ? 1 - lr * weight_decay : 1),
                         T(lr / (1 - std::pow(beta1, count))),
                         T(1 / std::sqrt(1 - std::pow(beta2, count))),
                         T(eps),
                         T(maximize ? -1 : 1),
                         T(scale)};
      if (parts.numel())
        launch_items(parts.kernel(source), parts.numel(), parts[0], parts[1], parts[2], parts[3],
                     parts[4], step, int32_t{amsgrad}, int32_t{static_cast<bool>(grad_scale)});
    });
    parts.finish();
  }
  return tensors;
}

int64_t sgd(KeySet, const Tensors& self, const Tensors& grads, const Tensors& momentum_buffer_list,
            double weight_decay, double momentum, double lr, double dampening, bool nesterov,
            bool maximize, bool is_first_step, const Tensor& grad_scale, const Tensor& found_inf) {
  constexpr std::string_view kOp = "_fused_sgd_";
  static const Source source{sources::optim, "sgd"};
  check_lengths(kOp, self, {&grads});
  if (momentum != 0) check_lengths(kOp, self, {&momentum_buffer_list});
  const auto tensors = static_cast<int64_t>(self.size());
  if (skipped(kOp, found_inf)) return tensors;
  const double scale = grad_scale ? scalar_of(grad_scale, kOp, "grad_scale") : 1;
  for (size_t i = 0; i < self.size(); ++i) {
    const Parts parts(kOp, {self[i], grads[i], momentum != 0 ? momentum_buffer_list[i] : Tensor()},
                      static_cast<bool>(grad_scale));
    in_type(self[i], [&](auto zero) {
      using T = decltype(zero);
      const Sgd<T> step{T(lr),        T(weight_decay),      T(momentum),
                        T(dampening), T(maximize ? -1 : 1), T(scale)};
      if (parts.numel())
        launch_items(parts.kernel(source), parts.numel(), parts[0], parts[1], parts[2], step,
                     int32_t{momentum != 0}, int32_t{nesterov}, int32_t{is_first_step},
                     int32_t{static_cast<bool>(grad_scale)});
    });
    parts.finish();
  }
  return tensors;
}

int64_t adagrad(KeySet, const Tensors& self, const Tensors& grads, const Tensors& state_sums,
                const Tensors& state_steps, double lr, double lr_decay, double weight_decay,
                double eps, bool maximize, const Tensor& grad_scale, const Tensor& found_inf) {
  constexpr std::string_view kOp = "_fused_adagrad_";
  static const Source source{sources::optim, "adagrad"};
  check_lengths(kOp, self, {&grads, &state_sums, &state_steps});
  const auto tensors = static_cast<int64_t>(self.size());
  if (skipped(kOp, found_inf)) return tensors;
  const double scale = grad_scale ? scalar_of(grad_scale, kOp, "grad_scale") : 1;
  for (size_t i = 0; i < self.size(); ++i) {
    const double count = scalar_of(state_steps[i], kOp, "state_steps");
    const Parts parts(kOp, {self[i], grads[i], state_sums[i]}, static_cast<bool>(grad_scale));
    in_type(self[i], [&](auto zero) {
      using T = decltype(zero);
      const Adagrad<T> step{T(lr / (1 + (count - 1) * lr_decay)), T(weight_decay), T(eps),
                            T(maximize ? -1 : 1), T(scale)};
      if (parts.numel())
        launch_items(parts.kernel(source), parts.numel(), parts[0], parts[1], parts[2], step,
                     int32_t{static_cast<bool>(grad_scale)});
    });
    parts.finish();
  }
  return tensors;
}

// Parameters of which the device computes all.
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
