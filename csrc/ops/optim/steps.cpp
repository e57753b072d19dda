#include "ops/optim/steps.h"

#include "ops/copy/any_device.h"
#include "ops/copy/element.h"
#include "ops/overlap.h"
#include "tensor/call_scope.h"

namespace uh {

StepTensors::StepTensors(std::string_view op, std::vector<Tensor> tensors, const Tensor& grad_scale)
    : tensors_(std::move(tensors)), unscales_(static_cast<bool>(grad_scale)) {
  const Tensor& own = parameter();
  check(is_floating(own.dtype()), op, ": expected floating point parameters, got ",
        name(own.dtype()));
  for (const Tensor& t : tensors_) {
    if (!t) continue;
    check(t.dtype() == own.dtype() && t.sizes() == own.sizes(), op,
          ": params, grads and state must have the same dtype and sizes, got ", name(own.dtype()),
          " ", own.sizes(), " and ", name(t.dtype()), " ", t.sizes());
    check_no_internal_overlap(t, op);
  }
  if (grad_scale) scale_ = optimizer::number_of(grad_scale, op, "grad_scale");
}

void StepTensors::finish(const std::vector<Tensor>& used) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& t = tensors_[i];
    if (!t || (i == 1 && !unscales_)) continue;
    if (!t.is_meta()) {
      if (!used[i].is_same(t)) write_elements(t, used[i]);
      record_write(t);
    }
    t.impl()->bump_version(current_call());
  }
}

namespace optimizer {

void check_lengths(std::string_view op, const Tensors& self,
                   std::initializer_list<const Tensors*> others) {
  for (const Tensors* list : others)
    check(list->size() == self.size(), op, ": expected lists of the same length, got ", self.size(),
          " params and ", list->size());
  for (const Tensor& t : self) check(t.device() == self[0].device(), op, ": several devices");
}

double number_of(const Tensor& t, std::string_view op, std::string_view argument) {
  check(t.numel() == 1, op, ": ", argument, " must have one element, got sizes ", t.sizes());
  return t.is_meta() ? 1 : read_scalar(t).to_double();
}

bool skipped(std::string_view op, const Tensor& found_inf) {
  if (!found_inf) return false;
  return number_of(found_inf, op, "found_inf") == 1 && !found_inf.is_meta();
}

}  // namespace optimizer
}  // namespace uh
