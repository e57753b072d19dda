#include "ops/mark_view.h"

namespace uh {

void mark_view(const Tensor& self, const Tensor& view, const OperatorInfo& op) {
  TensorImpl* base = self.impl()->base() ? self.impl()->base() : self.impl();
  view.impl()->set_base(Ref<TensorImpl>::share(base));
  if (events::on()) [[unlikely]] {
    events::emit(events::Kind::kVIEW, view.id(), self.id(), op.recorded_name(), current_call());
  }
}

void mark_view(const Tensor& self, const std::vector<Tensor>& views, const OperatorInfo& op) {
  for (const Tensor& view : views) mark_view(self, view, op);
}

}  // namespace uh
