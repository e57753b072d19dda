// Optimizer steps over lists of parameters: one call, and one pass over memory.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/loop_plan.h"
#include "backend/cpu/optim_loops.h"
#include "base/parallel.h"
#include "generated/kernels/optim.h"
#include "ops/optim/steps.h"

namespace uh::kernels {
namespace {

constexpr int64_t kOptimizerGrain = 1 << 15;  // minimum number of elements per thread

// A parameter, its gradient and its state as contiguous memory in one element order. Tensors with
// another layout are copied.
class Runs {
 public:
  explicit Runs(const StepTensors& tensors) : tensors_(tensors), used_(tensors.all()) {
    const Tensor& parameter = tensors.parameter();
    bool alike = true;
    for (const Tensor& t : used_) {
      const bool both = !t || (t.is_contiguous() && parameter.is_contiguous());
      alike = alike && (both || t.strides() == parameter.strides());
    }
    if (alike && dense(parameter)) return;
    for (Tensor& t : used_)
      if (t && !t.is_meta()) t = as_contiguous(t);
  }

  const OptimLoops& loops() const { return optim_loops().of[static_cast<int>(dtype())]; }

  // Calls body(pointers to the parts, number of elements), on several threads for many elements,
  // with the unscaled gradient. Records `loop` as the plan of the call.
  template <class Body>
  void walk(std::string_view loop, const Body& body) const {
    record_step_plan(loop);
    const int64_t n = tensors_.parameter().is_meta() ? 0 : tensors_.parameter().numel();
    parallel_for(0, n, kOptimizerGrain, [&](int64_t lo, int64_t hi) {
      std::array<void*, 5> at{};
      for (size_t i = 0; i < used_.size(); ++i)
        if (used_[i]) at[i] = used_[i].data() + lo * itemsize(dtype());
      if (tensors_.unscales()) unscale(at[1], hi - lo);
      body(at, hi - lo);
    });
    tensors_.finish(used_);
  }

 private:
  DType dtype() const { return tensors_.parameter().dtype(); }

  // Returns whether the elements fill a contiguous range of memory.
  static bool dense(const Tensor& t) {
    if (t.is_contiguous() || t.numel() == 0) return true;
    const ByteSpan span = byte_span(t);
    return span.hi - span.lo == t.numel() * itemsize(t.dtype());
  }

  void unscale(void* grad, int64_t n) const {
    const double scale = tensors_.scale();
    const auto divide = [&]<class T, class C>(T* at, C by) {
      for (int64_t i = 0; i < n; ++i) at[i] = static_cast<T>(static_cast<C>(at[i]) / by);
    };
    const auto by = static_cast<float>(scale);
    switch (dtype()) {
      case DType::kFloat16: return divide(static_cast<Half*>(grad), by);
      case DType::kBFloat16: return divide(static_cast<BFloat16*>(grad), by);
      case DType::kFloat32: return divide(static_cast<float*>(grad), by);
      default: return divide(static_cast<double*>(grad), scale);
    }
  }

  void record_step_plan(std::string_view loop) const {
    if (!events::on()) [[likely]]
      return;
    const int64_t item = itemsize(dtype()), n = tensors_.parameter().numel();
    Plan plan{.loop = loop, .sizes = {n}, .operands = {}, .threads = ranges_of(n, kOptimizerGrain)};
    for (const Tensor& t : used_)
      if (t && t.storage()->data()) plan.operands.push_back({item, {item}});
    record_plan(plan);
  }

  const StepTensors& tensors_;
  std::vector<Tensor> used_;
};

using optimizer::Tensors;

void run_adam(const StepTensors& tensors, const AdamStep& step) {
  const Runs runs(tensors);
  runs.walk("one pass: moments, then the parameter", [&](const auto& at, int64_t n) {
    runs.loops().adam(at[0], at[1], at[2], at[3], at[4], n, step);
  });
}

}  // namespace

int64_t fused_sgd(KeySet, const Tensors& self, const Tensors& grads,
                  const Tensors& momentum_buffer_list, double weight_decay, double momentum,
                  double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
                  const Tensor& grad_scale, const Tensor& found_inf) {
  return optimizer::sgd(
      self, grads, momentum_buffer_list, weight_decay, momentum, lr, dampening, nesterov, maximize,
      is_first_step, grad_scale, found_inf, [](const StepTensors& tensors, const SgdStep& step) {
        const Runs runs(tensors);
        runs.walk("one pass: momentum, then the parameter", [&](const auto& at, int64_t n) {
          runs.loops().sgd(at[0], at[1], at[2], n, step);
        });
      });
}

int64_t fused_adam(KeySet, const Tensors& self, const Tensors& grads, const Tensors& exp_avgs,
                   const Tensors& exp_avg_sqs, const Tensors& max_exp_avg_sqs,
                   const Tensors& state_steps, double lr, double beta1, double beta2,
                   double weight_decay, double eps, bool amsgrad, bool maximize,
                   const Tensor& grad_scale, const Tensor& found_inf) {
  return optimizer::adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
                         {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, false},
                         grad_scale, found_inf, run_adam);
}

int64_t fused_adamw(KeySet, const Tensors& self, const Tensors& grads, const Tensors& exp_avgs,
                    const Tensors& exp_avg_sqs, const Tensors& max_exp_avg_sqs,
                    const Tensors& state_steps, double lr, double beta1, double beta2,
                    double weight_decay, double eps, bool amsgrad, bool maximize,
                    const Tensor& grad_scale, const Tensor& found_inf) {
  return optimizer::adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
                         {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, true}, grad_scale,
                         found_inf, run_adam);
}

int64_t fused_adagrad(KeySet, const Tensors& self, const Tensors& grads, const Tensors& state_sums,
                      const Tensors& state_steps, double lr, double lr_decay, double weight_decay,
                      double eps, bool maximize, const Tensor& grad_scale,
                      const Tensor& found_inf) {
  return optimizer::adagrad(
      self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps, maximize, grad_scale,
      found_inf, [](const StepTensors& tensors, const AdagradStep& step) {
        const Runs runs(tensors);
        runs.walk("one pass: sum of squares, then the parameter", [&](const auto& at, int64_t n) {
          runs.loops().adagrad(at[0], at[1], at[2], n, step);
        });
      });
}

}  // namespace uh::kernels
