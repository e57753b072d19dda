#include "autograd/accumulate_grad.h"

#include <mutex>

#include "autograd/autograd_meta.h"
#include "autograd/engine.h"
#include "events/recorder.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/copy.h"
#include "tensor/dense.h"

namespace uh::autograd {
namespace {

// The way in which a gradient became `.grad`: field `mode` of event ACCUMULATE.
enum class AccumulateMode : int64_t {
#define UH_ACCUMULATE_MODE(enumerator, label) enumerator,
#include "events/codes.inc"
};

// True if the caller is the only holder of the gradient and its bytes. The gradient may be a view
// whose base has no other holder (the transpose of a product).
bool is_sole_holder(const Tensor& gradient) {
  if (gradient.impl()->use_count() != 1) return false;
  const TensorImpl* base = gradient.impl()->base();
  const bool last = base && base->use_count() == 1;
  return gradient.storage()->use_count() == (last ? 2 : 1);
}

// Returns true if the gradient has the leaf's layout, so that optimizers read both in the same
// order. A leaf whose elements overlap or leave gaps gets a row-major gradient. The leaf may have
// another number of dimensions than the gradient since `x.data = y`.
bool same_layout(const Tensor& leaf, const Tensor& gradient) {
  if (!is_dense(leaf)) return gradient.is_contiguous();
  if (leaf.ndim() != gradient.ndim()) return false;
  for (int64_t d = 0; d < leaf.ndim(); ++d)
    if (gradient.size(d) != 1 && leaf.stride(d) != gradient.stride(d)) return false;
  return true;
}

Tensor copy_like(const Tensor& gradient, const Tensor& leaf) {
  if (gradient.is_sparse() || leaf.is_sparse())
    return ops::clone(gradient, MemoryFormat::kUndefined);
  if (!is_dense(leaf)) return ops::clone(gradient, MemoryFormat::kContiguous);
  Tensor laid_out = empty_like(leaf, gradient.dtype());
  ops::copy_(laid_out, gradient, false);
  return laid_out;
}

}  // namespace

AccumulateGrad::AccumulateGrad(const Tensor& leaf) : Node(UINT64_MAX), leaf_(leaf) {
  add_input(leaf);
  if (events::on()) [[unlikely]]
    events::emit(events::Kind::kTENSOR_RETAIN, leaf.id(),
                 static_cast<int64_t>(events::Holder::kSaved), id(), leaf.impl()->use_count());
}

AccumulateGrad::~AccumulateGrad() {
  AutogradMeta& m = meta(leaf_);
  m.lock.lock();
  if (m.accumulator == this) m.accumulator = nullptr;
  m.lock.unlock();
  if (events::on()) [[unlikely]]
    events::emit(events::Kind::kTENSOR_RELEASE, leaf_.id(),
                 static_cast<int64_t>(events::Holder::kSaved), id(), leaf_.impl()->use_count() - 1);
}

HookList AccumulateGrad::leaf_hooks() const {
  const AutogradMeta* m = maybe_meta(leaf_.impl());
  if (!m) return {};
  const std::lock_guard guard(m->lock);
  return m->hooks;
}

Gradients AccumulateGrad::apply(Gradients gradients) {
  Tensor incoming = std::move(gradients[0]);
  AutogradMeta& m = meta(leaf_);
  check(!grad_fn(leaf_), "leaf variable has been moved into the graph interior");
  if (incoming && m.requires_grad) {
    const int64_t arrived = incoming.id();
    accumulate(std::move(incoming), arrived);
  }
  // As in PyTorch, also without a gradient, or if the leaf no longer requires one.
  HookList after;
  {
    const std::lock_guard guard(m.lock);
    after = m.after_accumulate;
  }
  for (const Ref<Hook>& hook : after) {
    Tensor leaf = leaf_;
    hook->call(&leaf, 1, nullptr, 0);
    if (!events::on()) continue;
    const Tensor grad = m.grad();
    record_hook(HookKind::kPostAccumulate, leaf_.id(), grad, grad);
  }
  return {};
}

void AccumulateGrad::accumulate(Tensor incoming, int64_t arrived) {
  AutogradMeta& m = meta(leaf_);
  AccumulateMode mode = AccumulateMode::kTaken;
  // Several threads may accumulate into this leaf.
  const std::lock_guard<std::mutex> one_at_a_time(accumulation_lock(leaf_));
  Tensor grad = m.grad();
  if (!grad) {
    const bool can_take = !grad_enabled() && is_sole_holder(incoming);
    if (can_take && (incoming.is_sparse() || same_layout(leaf_, incoming))) {
      if (incoming.impl()->base() || requires_grad(incoming))
        incoming = alias(incoming, incoming.impl()->layout());
    } else {
      mode = AccumulateMode::kCopied;
      incoming = copy_like(incoming, leaf_);
    }
    set_grad(leaf_, incoming);
    grad = std::move(incoming);
  } else if (grad.is_sparse() && !incoming.is_sparse()) {
    mode = AccumulateMode::kAdded;  // the sum is dense
    grad = ops::add(incoming, grad, Scalar(1));
    set_grad(leaf_, grad);
  } else if (!grad_enabled()) {
    mode = AccumulateMode::kAddedInPlace;
    ops::add_(grad, incoming, Scalar(1));
  } else {
    mode = AccumulateMode::kAdded;
    grad = ops::add(grad, incoming, Scalar(1));
    set_grad(leaf_, grad);
  }
  if (events::on()) [[unlikely]]
    events::emit(events::Kind::kACCUMULATE, leaf_.id(), arrived, grad.id(),
                 static_cast<int64_t>(mode), current_run());
}

}  // namespace uh::autograd
