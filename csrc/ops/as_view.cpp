#include "ops/as_view.h"

#include "tensor/thread_state.h"

namespace uh {

namespace {

ViewOrigin origin_of(const Tensor& self, ViewOrigin result) {
  // A view of a view inherits the reason that forbids writing through the first.
  if (self.impl()->base() && self.impl()->view_origin() != ViewOrigin::kDefault)
    return self.impl()->view_origin();
  if (result != ViewOrigin::kDefault) return result;
  if (t_state.inference) return ViewOrigin::kInference;
  return grad_enabled() ? ViewOrigin::kDefault : ViewOrigin::kNoGrad;
}

void mark(const Tensor& self, const Tensor& view, const OperatorInfo& op, ViewOrigin origin) {
  if (self.is_sparse()) return;  // sparse view operators return new tensors
  TensorImpl* base = self.impl()->base() ? self.impl()->base() : self.impl();
  if (!self.impl()->is_inference())
    view.impl()->set_base(Ref<TensorImpl>::share(base), origin_of(self, origin));
  mark_alias(self, view, op);
}

}  // namespace

void as_view(const Tensor& self, const Tensor& view, const OperatorInfo& op) {
  mark(self, view, op, ViewOrigin::kDefault);
}

void as_view(const Tensor& self, const std::vector<Tensor>& views, const OperatorInfo& op) {
  for (const Tensor& view : views) mark(self, view, op, ViewOrigin::kMultiOutput);
}

void mark_alias(const Tensor& self, const Tensor& view, const OperatorInfo& op) {
  if (events::on()) [[unlikely]] {
    events::emit(events::Kind::kVIEW, view.id(), self.id(), op.recorded_name(), current_call());
  }
}

}  // namespace uh
