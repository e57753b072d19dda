#include "autograd/autograd_meta.h"

#include <mutex>

#include "autograd/accumulate_grad.h"
#include "autograd/copy_slices.h"
#include "events/recorder.h"

namespace uh::autograd {
namespace {

void record_grad_fn(const Tensor& tensor, const Ref<Node>& node, uint32_t output) {
  if (events::on()) [[unlikely]]
    events::emit(events::Kind::kGRAD_FN, tensor.id(), node ? node->id() : 0, output);
}

void set_edge(const Tensor& tensor, Ref<Node> node, uint32_t output) {
  record_grad_fn(tensor, node, output);
  const Ref<Node> old = meta(tensor).set_history(std::move(node), output);
  tensor.impl()->set_history_version(tensor.impl()->version());
  if (!tensor.keys().has(Key::kAutograd)) tensor.impl()->add_key(Key::kAutograd);
}

}  // namespace

AutogradMeta::~AutogradMeta() {
  if (retain) retain->forget();
}

AutogradMeta& meta(const Tensor& tensor) {
  if (AutogradMeta* known = maybe_meta(tensor.impl())) return *known;
  return static_cast<AutogradMeta&>(
      *tensor.impl()->offer_autograd(std::make_unique<AutogradMeta>()));
}

namespace {

std::mutex& view_lock(const TensorImpl* view) {
  static std::mutex locks[16];
  return locks[static_cast<size_t>(view->id()) % 16];
}

std::string_view advice(ViewOrigin origin) {
  switch (origin) {
    case ViewOrigin::kMultiOutput:
      return " This view is the output of a function that returns multiple views. Such functions "
             "do not allow the output views to be modified inplace. You should replace the inplace "
             "operation by an out-of-place one.";
    case ViewOrigin::kNoGrad:
      return " Given that this use case is ambiguous and error-prone, it is forbidden. You can "
             "clarify your code by moving both the view and the inplace either both inside the "
             "no_grad block (if you don't want the inplace to be tracked) or both outside (if you "
             "want the inplace to be tracked).";
    case ViewOrigin::kInference:
      return " Given that this use case is ambiguous and error-prone, it is forbidden. You can "
             "clarify your code by moving both the view and the inplace either both inside the "
             "inference_mode block (if you don't want the inplace to be tracked) or both outside "
             "(if you want the inplace to be tracked).";
    default:
      return " This view was created inside a custom Function (or because an input was returned "
             "as-is) and the autograd logic to handle view+inplace would override the custom "
             "backward associated with the custom Function, leading to incorrect gradients. This "
             "behavior is forbidden. You can fix this by cloning the output of the custom "
             "Function.";
  }
}

enum class Written { kItself, kBase };

void check_view(const Tensor& self, Written written) {
  const ViewOrigin origin = self.impl()->view_origin();
  if (origin == ViewOrigin::kDefault) return;
  const AutogradMeta* known = maybe_meta(self.impl());
  const Edge history = known ? known->history() : Edge();
  const bool inference = origin == ViewOrigin::kInference;
  const std::string output =
      history.node ? message("Output ", history.input, " of ", short_name(*history.node)) : "";
  const std::string_view change =
      written == Written::kItself
          ? " and is being modified inplace"
          : " and its base or another view of its base has been modified inplace";
  if (history.node && origin != ViewOrigin::kNoGrad && !inference)
    fail(ErrorKind::kRuntime, output, " is a view", change, ".", advice(origin));
  // Without history it can only come from a mode without gradients.
  fail(ErrorKind::kRuntime,
       history.node ? output + " is a view of a view which was" : "A view was", " created in",
       inference ? " inference mode" : " no_grad mode", change,
       inference ? " in normal mode." : " with grad mode enabled.", advice(origin));
}

// retain_grad() applies to the tensor's latest version: its hook moves to the new Node.
void move_retained(const Tensor& self, Node& to, uint32_t output) {
  const AutogradMeta* m = maybe_meta(self.impl());
  if (!m) return;
  Ref<Hook> retain;
  {
    const std::lock_guard guard(m->lock);
    retain = m->retain;
  }
  if (!retain) return;
  if (const Ref<Node> from = m->history().node) from->remove_hook(retain->id());
  to.add_hook(&Node::Hooks::retained, output, std::move(retain));
}

}  // namespace

Edge history_of(const Tensor& tensor) {
  TensorImpl* impl = tensor.impl();
  if (!impl->base()) {
    const AutogradMeta* known = maybe_meta(impl);
    return known && known->has_grad_fn() ? known->history() : Edge();
  }
  // Several threads may see at once that the base was written: all use the first thread's Node.
  Edge result;
  const auto look = [&] {
    const AutogradMeta* known = maybe_meta(impl);
    result = known ? known->history() : Edge();
    return impl->history_version() == impl->version();
  };
  std::mutex& lock = view_lock(impl);
  {
    const std::lock_guard<std::mutex> one_at_a_time(lock);
    if (look() || (!result.node && !impl->base()->requires_grad())) return result;
  }
  check_view(tensor, Written::kBase);
  const Tensor base = Tensor::share(impl->base());
  Ref<Node> new_node = view_node(base, tensor, result.node);
  new_node->add_edge(gradient_edge(base));
  const uint32_t output = new_node->add_input(tensor);
  const std::lock_guard<std::mutex> one_at_a_time(lock);
  if (look()) return result;  // another thread was faster
  move_retained(tensor, *new_node, output);
  set_edge(tensor, new_node, output);
  return {std::move(new_node), output};
}

Ref<Node> grad_accumulator(const Tensor& leaf) {
  AutogradMeta& m = meta(leaf);
  m.lock.lock();
  if (m.accumulator && m.accumulator->try_retain()) {
    Ref<Node> node = Ref<Node>::adopt(m.accumulator);
    m.lock.unlock();
    return node;
  }
  m.lock.unlock();
  Ref<Node> new_node = make_ref<AccumulateGrad>(leaf);
  m.lock.lock();
  if (m.accumulator && m.accumulator->try_retain()) {  // another thread was faster
    Ref<Node> node = Ref<Node>::adopt(m.accumulator);
    m.lock.unlock();
    return node;
  }
  m.accumulator = new_node.get();
  m.lock.unlock();
  return new_node;
}

Edge gradient_edge(const Tensor& tensor) {
  if (Edge history = history_of(tensor); history.node) return history;
  const AutogradMeta* m = maybe_meta(tensor.impl());
  if (m && m->requires_grad) return {grad_accumulator(tensor), 0};
  return {};
}

void set_history(const Tensor& result, const Ref<Node>& node) {
  if (!result) {
    node->add_undefined_input();
    return;
  }
  const uint32_t output = node->add_input(result);
  if (is_differentiable(result.dtype())) set_edge(result, node, output);
}

void set_history(const std::vector<Tensor>& results, const Ref<Node>& node) {
  for (const Tensor& result : results) set_history(result, node);
}

void check_inplace(const Tensor& self, bool any_requires_grad) {
  if (!any_requires_grad || !grad_enabled()) return;
  const bool differentiable_view = self.impl()->base() != nullptr;
  if (differentiable_view) {
    const Tensor base = Tensor::share(self.impl()->base());
    check_view(self, Written::kItself);
    check(!(requires_grad(self) && is_leaf(base)),
          "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
  check(!(requires_grad(self) && has_no_node(self)),
        "a leaf Variable that requires grad is being used in an in-place operation.");
}

void extend_history(const Tensor& self, Ref<Node> node) {
  const uint32_t output = node->add_input(self);
  if (AutogradMeta* m = maybe_meta(self.impl()); m && !m->has_grad_fn()) {
    HookList of_the_leaf;
    const std::lock_guard guard(m->lock);
    std::swap(m->hooks, of_the_leaf);
  }
  move_retained(self, *node, output);
  set_edge(self, std::move(node), output);
}

void rebase_history(const Tensor& self, Ref<Node> node) {
  if (!self.impl()->base()) return extend_history(self, std::move(node));
  node->add_input(self);
  const Tensor base = Tensor::share(self.impl()->base());
  Ref<Node> slices = make_ref<CopySlices>(base, self, std::move(node));
  const uint32_t output = slices->add_input(base);
  move_retained(base, *slices, output);
  set_edge(base, std::move(slices), output);
  self.impl()->set_history_version(-1);
  grad_fn(self);
}

void set_requires_grad(const Tensor& tensor, bool value) {
  check(!value || is_differentiable(tensor.dtype()),
        "only Tensors of floating point and complex dtype can require gradients");
  check(!(value && tensor.impl()->is_inference() && !t_state.inference),
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  check(has_no_node(tensor) || value,
        "you can only change requires_grad flags of leaf variables. If you want to use a computed "
        "variable in a subgraph that doesn't require differentiation use "
        "var_no_grad = var.detach().");
  if (!has_no_node(tensor)) return;
  AutogradMeta& m = meta(tensor);
  if (m.requires_grad != value && events::on()) [[unlikely]]
    events::emit(events::Kind::kREQUIRES_GRAD, tensor.id(), value);
  m.requires_grad = value;
  if (value)
    tensor.impl()->add_key(Key::kAutograd);
  else if (!tensor.impl()->base())
    tensor.impl()->remove_key(Key::kAutograd);
}

void detach_in_place(const Tensor& tensor) {
  check(!tensor.impl()->base(),
        "Can't detach views in-place. Use detach() instead. If you are using "
        "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
        "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
        "these gradients.");
  AutogradMeta& m = meta(tensor);
  m.requires_grad = false;
  const Ref<Node> old = m.set_history(nullptr, 0);
  record_grad_fn(tensor, nullptr, 0);
  tensor.impl()->remove_key(Key::kAutograd);
}

bool is_leaf(const Tensor& tensor) { return !grad_fn(tensor); }

bool has_no_node(const Tensor& tensor) {
  const AutogradMeta* known = maybe_meta(tensor.impl());
  return !known || !known->has_grad_fn();
}

void set_grad(const Tensor& tensor, const Tensor& grad) {
  AutogradMeta& m = meta(tensor);
  const auto holder = static_cast<int64_t>(events::Holder::kGrad);
  const Tensor old = m.set_grad(grad);
  if (events::on()) [[unlikely]] {
    if (old)
      events::emit(events::Kind::kTENSOR_RELEASE, old.id(), holder, tensor.id(),
                   old.impl()->use_count() - 1);
    events::emit(events::Kind::kGRAD_SET, tensor.id(), grad ? grad.id() : 0);
  }
  if (grad && events::on()) [[unlikely]]
    events::emit(events::Kind::kTENSOR_RETAIN, grad.id(), holder, tensor.id(),
                 grad.impl()->use_count());
}

void retain_grad(const Tensor& tensor, Ref<Hook> hook) {
  AutogradMeta& m = meta(tensor);
  const Edge history = history_of(tensor);
  m.retains_grad = true;
  {
    Ref<Hook> old = hook;
    const std::lock_guard guard(m.lock);
    std::swap(m.retain, old);
  }
  history.node->add_hook(&Node::Hooks::retained, history.input, std::move(hook));
}

std::string type_text(const Tensor& tensor) {
  return message("[torch.", info(tensor.dtype()).title, "Tensor ", tensor.sizes(), "]");
}

}  // namespace uh::autograd
