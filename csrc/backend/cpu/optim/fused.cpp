// Optimizer steps over lists of parameters: one call for all of them, one pass over their memory.
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/loop_plan.h"
#include "backend/cpu/optim_loops.h"
#include "base/parallel.h"
#include "generated/kernels/optim.h"
#include "tensor/call_scope.h"

namespace uh::kernels {
namespace {

constexpr int64_t kGrainSize = 1 << 15;  // elements a thread should have at least

// A parameter with what belongs to it, as runs of memory in the same order. Tensors that do not lie
// like that are copied, and what was written is copied back.
class Runs {
 public:
  // `parts`: the parameter, its gradient, then its state; an empty tensor is left out.
  Runs(std::string_view op, std::initializer_list<Tensor> parts, bool writes_gradient)
      : arguments_(parts), writes_gradient_(writes_gradient) {
    const Tensor& parameter = arguments_[0];
    check(is_floating(parameter.dtype()), op, ": expected floating point parameters, got ",
          name(parameter.dtype()));
    bool alike = true;
    for (const Tensor& t : arguments_) {
      if (!t) continue;
      check(t.dtype() == parameter.dtype() && t.sizes() == parameter.sizes(), op,
            ": params, grads and state must have the same dtype and sizes, got ",
            name(parameter.dtype()), " ", parameter.sizes(), " and ", name(t.dtype()), " ",
            t.sizes());
      check_no_internal_overlap(t, op);
      const bool both = t.is_contiguous() && parameter.is_contiguous();
      alike = alike && (both || t.strides() == parameter.strides());
    }
    used_ = arguments_;
    if (alike && dense(parameter)) return;
    for (Tensor& t : used_)
      if (t && !t.is_meta()) t = as_contiguous(t);
  }

  void* data(size_t part) const { return used_[part] ? used_[part].data() : nullptr; }
  DType dtype() const { return arguments_[0].dtype(); }

  // body(offset in bytes, number of elements), by several threads where there is much to do.
  template <class Body>
  void walk(const Body& body) const {
    if (arguments_[0].is_meta()) return;
    const int64_t item = itemsize(dtype());
    parallel_for(0, arguments_[0].numel(), kGrainSize,
                 [&](int64_t lo, int64_t hi) { body(lo * item, hi - lo); });
  }

  // Copies back, records events, counts the writes.
  void finish() const {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Tensor& t = arguments_[i];
      if (!t || (i == 1 && !writes_gradient_)) continue;
      if (!t.is_meta()) {
        if (!used_[i].is_same(t)) copy_elements(t, used_[i]);
        record_write(t);
      }
      t.impl()->bump_version(current_call());
    }
  }

 private:
  // The elements fill one run of memory: as many bytes as there are elements for.
  static bool dense(const Tensor& t) {
    if (t.is_contiguous() || t.numel() == 0) return true;
    const ByteSpan span = byte_span(t);
    return span.hi - span.lo == t.numel() * itemsize(t.dtype());
  }

  std::vector<Tensor> arguments_, used_;
  bool writes_gradient_;
};

void* advanced(void* run, int64_t bytes) { return run ? static_cast<char*>(run) + bytes : nullptr; }

using Tensors = std::vector<Tensor>;

int64_t count_of(const Tensors& list) { return static_cast<int64_t>(list.size()); }

void check_lengths(std::string_view op, const Tensors& self,
                   std::initializer_list<const Tensors*> others) {
  for (const Tensors* list : others)
    check(list->size() == self.size(), op, ": expected lists of the same length, got ", self.size(),
          " params and ", list->size());
  for (const Tensor& t : self) check(t.device() == self[0].device(), op, ": several devices");
}

double number_of(const Tensor& t, std::string_view op, std::string_view argument_name) {
  check(t.numel() == 1, op, ": ", argument_name, " must have one element, got sizes ", t.sizes());
  return t.is_meta() ? 1 : read_scalar(t).to_double();
}

// `found_inf` of gradient scaling means that this step must be skipped.
bool skipped(std::string_view op, const Tensor& found_inf) {
  if (!found_inf) return false;
  return number_of(found_inf, op, "found_inf") == 1 && !found_inf.is_meta();
}

// grad = grad / grad_scale, in place, as PyTorch's fused steps leave it.
void unscale(void* grad, DType dtype, int64_t n, double scale) {
  const auto divide = [&]<class T, class C>(T* at, C by) {
    for (int64_t i = 0; i < n; ++i) at[i] = static_cast<T>(static_cast<C>(at[i]) / by);
  };
  const auto by = static_cast<float>(scale);
  switch (dtype) {
    case DType::kFloat16: return divide(static_cast<Half*>(grad), by);
    case DType::kBFloat16: return divide(static_cast<BFloat16*>(grad), by);
    case DType::kFloat32: return divide(static_cast<float*>(grad), by);
    default: return divide(static_cast<double*>(grad), scale);
  }
}

void record_step_plan(const Runs& runs, std::string_view loop, int64_t n, size_t parts) {
  if (!events::on()) [[likely]]
    return;
  const int64_t item = itemsize(runs.dtype());
  Plan plan{.loop = loop, .sizes = {n}, .operands = {}, .threads = ranges_of(n, kGrainSize)};
  for (size_t i = 0; i < parts; ++i)
    if (runs.data(i)) plan.operands.push_back({item, {item}});
  record_plan(plan);
}

struct AdamArguments {
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize, decoupled;
};

int64_t adam_steps(std::string_view op, const Tensors& self, const Tensors& grads,
                   const Tensors& exp_avgs, const Tensors& exp_avg_sqs,
                   const Tensors& max_exp_avg_sqs, const Tensors& state_steps,
                   const AdamArguments& argument, const Tensor& grad_scale,
                   const Tensor& found_inf) {
  check_lengths(op, self, {&grads, &exp_avgs, &exp_avg_sqs, &state_steps});
  if (argument.amsgrad) check_lengths(op, self, {&max_exp_avg_sqs});
  if (skipped(op, found_inf)) return count_of(self);
  for (size_t i = 0; i < self.size(); ++i) {
    const double count = number_of(state_steps[i], op, "state_steps");
    AdamStep step{};
    step.rate1 = 1 - argument.beta1;
    step.rate2 = 1 - argument.beta2;
    step.beta2 = argument.beta2;
    step.decay = argument.decoupled ? 0 : argument.weight_decay;
    step.shrink = argument.decoupled ? 1 - argument.lr * argument.weight_decay : 1;
    step.step_size = argument.lr / (1 - std::pow(argument.beta1, count));
    step.scale = 1 / std::sqrt(1 - std::pow(argument.beta2, count));
    step.eps = argument.eps;
    step.sign = argument.maximize ? -1 : 1;
    const Runs runs(op,
                    {self[i], grads[i], exp_avgs[i], exp_avg_sqs[i],
                     argument.amsgrad ? max_exp_avg_sqs[i] : Tensor()},
                    static_cast<bool>(grad_scale));
    const double scale = grad_scale ? number_of(grad_scale, op, "grad_scale") : 1;
    const auto loop = optim_loops().of[static_cast<int>(runs.dtype())].adam;
    record_step_plan(runs, "one pass: moments, then the parameter", self[i].numel(), 5);
    runs.walk([&](int64_t at, int64_t n) {
      if (grad_scale) unscale(advanced(runs.data(1), at), runs.dtype(), n, scale);
      loop(advanced(runs.data(0), at), advanced(runs.data(1), at), advanced(runs.data(2), at),
           advanced(runs.data(3), at), advanced(runs.data(4), at), n, step);
    });
    runs.finish();
  }
  return count_of(self);
}

}  // namespace

int64_t fused_sgd(KeySet, const Tensors& self, const Tensors& grads,
                  const Tensors& momentum_buffer_list, double weight_decay, double momentum,
                  double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
                  const Tensor& grad_scale, const Tensor& found_inf) {
  constexpr std::string_view kOp = "_fused_sgd_";
  check_lengths(kOp, self, {&grads});
  if (momentum != 0) check_lengths(kOp, self, {&momentum_buffer_list});
  if (skipped(kOp, found_inf)) return count_of(self);
  const double sign = maximize ? -1 : 1;
  const SgdStep step{lr, weight_decay, momentum, dampening, sign, nesterov, is_first_step};
  for (size_t i = 0; i < self.size(); ++i) {
    const Runs runs(kOp, {self[i], grads[i], momentum != 0 ? momentum_buffer_list[i] : Tensor()},
                    static_cast<bool>(grad_scale));
    const double scale = grad_scale ? number_of(grad_scale, kOp, "grad_scale") : 1;
    const auto loop = optim_loops().of[static_cast<int>(runs.dtype())].sgd;
    record_step_plan(runs, "one pass: momentum, then the parameter", self[i].numel(), 3);
    runs.walk([&](int64_t at, int64_t n) {
      if (grad_scale) unscale(advanced(runs.data(1), at), runs.dtype(), n, scale);
      loop(advanced(runs.data(0), at), advanced(runs.data(1), at), advanced(runs.data(2), at), n,
           step);
    });
    runs.finish();
  }
  return count_of(self);
}

int64_t fused_adam(KeySet, const Tensors& self, const Tensors& grads, const Tensors& exp_avgs,
                   const Tensors& exp_avg_sqs, const Tensors& max_exp_avg_sqs,
                   const Tensors& state_steps, double lr, double beta1, double beta2,
                   double weight_decay, double eps, bool amsgrad, bool maximize,
                   const Tensor& grad_scale, const Tensor& found_inf) {
  return adam_steps("_fused_adam_", self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs,
                    state_steps, {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, false},
                    grad_scale, found_inf);
}

int64_t fused_adamw(KeySet, const Tensors& self, const Tensors& grads, const Tensors& exp_avgs,
                    const Tensors& exp_avg_sqs, const Tensors& max_exp_avg_sqs,
                    const Tensors& state_steps, double lr, double beta1, double beta2,
                    double weight_decay, double eps, bool amsgrad, bool maximize,
                    const Tensor& grad_scale, const Tensor& found_inf) {
  return adam_steps("_fused_adamw_", self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs,
                    state_steps, {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, true},
                    grad_scale, found_inf);
}

int64_t fused_adagrad(KeySet, const Tensors& self, const Tensors& grads, const Tensors& state_sums,
                      const Tensors& state_steps, double lr, double lr_decay, double weight_decay,
                      double eps, bool maximize, const Tensor& grad_scale,
                      const Tensor& found_inf) {
  constexpr std::string_view kOp = "_fused_adagrad_";
  check_lengths(kOp, self, {&grads, &state_sums, &state_steps});
  if (skipped(kOp, found_inf)) return count_of(self);
  for (size_t i = 0; i < self.size(); ++i) {
    const double count = number_of(state_steps[i], kOp, "state_steps");
    const AdagradStep step{lr / (1 + (count - 1) * lr_decay), weight_decay, eps,
                           maximize ? -1.0 : 1.0};
    const Runs runs(kOp, {self[i], grads[i], state_sums[i]}, static_cast<bool>(grad_scale));
    const double scale = grad_scale ? number_of(grad_scale, kOp, "grad_scale") : 1;
    const auto loop = optim_loops().of[static_cast<int>(runs.dtype())].adagrad;
    record_step_plan(runs, "one pass: sum of squares, then the parameter", self[i].numel(), 3);
    runs.walk([&](int64_t at, int64_t n) {
      if (grad_scale) unscale(advanced(runs.data(1), at), runs.dtype(), n, scale);
      loop(advanced(runs.data(0), at), advanced(runs.data(1), at), advanced(runs.data(2), at), n,
           step);
    });
    runs.finish();
  }
  return count_of(self);
}

}  // namespace uh::kernels
