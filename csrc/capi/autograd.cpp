// The C ABI of differentiation: tensors, modes, passes, saved_tensors_hooks. underhood_autograd.h
// has the contract of each function; Nodes are in autograd_nodes.cpp.
#include "autograd/autocast.h"
#include "autograd/autograd_meta.h"
#include "autograd/engine.h"
#include "autograd/saved_tensor.h"
#include "capi/convert_autograd.h"
#include "tensor/thread_state.h"

using namespace uh;            // NOLINT: this file is nothing but calls into uh
using namespace uh::autograd;  // NOLINT

void uh::forget_accumulator(const Tensor& leaf) {
  AutogradMeta* m = maybe_meta(leaf.impl());
  if (!m) return;
  m->lock.lock();
  m->accumulator = nullptr;
  m->lock.unlock();
}

int uh_requires_grad(uh_handle self) {
  const InUse impl(self);
  return impl->keys().has(Key::kAutograd) && impl->requires_grad();
}
int uh_set_requires_grad(uh_handle self, int value) {
  return guard(-1, [&] {
    set_requires_grad(take(self), value != 0);
    return 0;
  });
}
int uh_forget_accumulator(uh_handle self) {
  return guard(-1, [&] {
    forget_accumulator(take(self));
    return 0;
  });
}
int uh_is_leaf(uh_handle self) {
  return guard(-1, [&] { return static_cast<int>(is_leaf(take(self))); });
}
int uh_has_no_autograd(uh_handle self) {
  const TensorImpl* impl = impl_of(self);
  return !maybe_meta(impl) && !impl->base();
}
int uh_has_no_node(uh_handle self) {
  return guard(-1, [&] { return static_cast<int>(has_no_node(take(self))); });
}
uh_node uh_grad_fn(uh_handle self) {
  return guard(~uh_node{0}, [&] { return give_node(grad_fn(take(self))); });
}
int64_t uh_output_nr(uh_handle self) {
  const AutogradMeta* m = maybe_meta(impl_of(self));
  return m ? m->history().input : 0;
}
uh_handle uh_grad(uh_handle self) {
  const CallSection call;
  const AutogradMeta* m = maybe_meta(impl_of(self));
  Tensor grad = m ? m->grad() : Tensor();
  return grad ? give(std::move(grad)) : 0;
}
int uh_set_grad(uh_handle self, uh_handle grad) {
  return guard(-1, [&] {
    const Tensor tensor = take(self), given = take(grad);
    if (!given && !maybe_meta(tensor.impl())) return 0;
    if (given) {
      check(!given.is_same(tensor), "can't assign Variable as its own grad");
      check(given.sizes() == tensor.sizes(),
            "assigned grad has data of a different size: the "
            "tensor has sizes ",
            tensor.sizes(), ", the gradient ", given.sizes());
      check(given.dtype() == tensor.dtype(),
            "assigned grad has data of a different type: the "
            "tensor has dtype ",
            info(tensor.dtype()).name, ", the gradient ", info(given.dtype()).name);
      check(given.device() == tensor.device(),
            "assigned grad has data located on a different device");
    }
    set_grad(tensor, given);
    return 0;
  });
}
int uh_retains_grad(uh_handle self) {
  const AutogradMeta* m = maybe_meta(impl_of(self));
  return m && m->retains_grad;
}
int uh_is_inference(uh_handle self) { return impl_of(self)->is_inference(); }
uh_node uh_gradient_edge(uh_handle self, int64_t* ret_input) {
  return guard(uh_node{0}, [&] {
    const Tensor tensor = take(self);
    check(requires_grad(tensor),
          "It is not possible to get the gradient edge for a Tensor that does not require "
          "gradients");
    Edge edge = gradient_edge(tensor);
    *ret_input = edge.input;
    return give_node(std::move(edge.node));
  });
}
int uh_detach_(uh_handle self) {
  return guard(-1, [&] {
    detach_in_place(take(self));
    return 0;
  });
}

uh_handle uh_variable_view(uh_handle self) {
  return guard(uh_handle{0}, [&] {
    const Tensor t = take(self);
    return give(alias(t, t.impl()->layout()));
  });
}

int uh_grad_enabled(void) { return grad_enabled(); }
void uh_set_grad_enabled(int enabled) { set_grad_enabled(enabled != 0); }
int uh_inference_enabled(void) { return t_state.inference; }
void uh_set_inference_enabled(int enabled) { t_state.inference = enabled != 0; }

int uh_autocast_enabled(void) { return autocast_enabled(); }
void uh_set_autocast_enabled(int enabled) {
  calls::use_any();
  set_autocast_enabled(enabled != 0);
}
int uh_autocast_dtype(void) { return static_cast<int>(autocast_dtype()); }
int uh_set_autocast_dtype(int dtype) {
  return guard(-1, [&] {
    set_autocast_dtype(static_cast<DType>(dtype));
    return 0;
  });
}
int uh_autocast_cache_enabled(void) { return autocast_cache_enabled(); }
void uh_set_autocast_cache_enabled(int enabled) { set_autocast_cache_enabled(enabled != 0); }
void uh_clear_autocast_cache(void) { clear_autocast_cache(); }

namespace {

RunOptions options_of(int flags) {
  return {(flags & UH_BACKWARD_KEEP_GRAPH) != 0, (flags & UH_BACKWARD_CREATE_GRAPH) != 0,
          (flags & UH_BACKWARD_ACCUMULATE) != 0, (flags & UH_BACKWARD_ALLOW_UNUSED) != 0};
}

void give_gradients(std::vector<Tensor> result, uh_handle* ret) {
  for (size_t i = 0; i < result.size(); ++i) ret[i] = result[i] ? give(std::move(result[i])) : 0;
}

}  // namespace

int uh_backward(const uh_handle* roots, const uh_handle* gradients, int64_t n,
                const uh_handle* inputs, int64_t n_inputs, int flags, uh_handle* ret_gradients) {
  return guard(-1, [&] {
    calls::use_any();
    auto result = run_backward(to_tensors(roots, n), to_tensors(gradients, gradients ? n : 0),
                               to_tensors(inputs, n_inputs), options_of(flags));
    if (!(flags & UH_BACKWARD_ACCUMULATE)) give_gradients(std::move(result), ret_gradients);
    return 0;
  });
}

int uh_backward_edges(const uh_node* roots, const int64_t* root_inputs, const uh_handle* gradients,
                      int64_t n, const uh_node* inputs, const int64_t* input_numbers,
                      int64_t n_inputs, int flags, uh_handle* ret_gradients) {
  return guard(-1, [&] {
    calls::use_any();
    std::vector<Edge> from, to;
    for (int64_t i = 0; i < n; ++i)
      from.push_back({take_node(roots[i]), static_cast<uint32_t>(root_inputs[i])});
    for (int64_t i = 0; i < n_inputs; ++i)
      to.push_back({take_node(inputs[i]), static_cast<uint32_t>(input_numbers[i])});
    auto result =
        run_backward(std::move(from), to_tensors(gradients, n), std::move(to), options_of(flags));
    if (!(flags & UH_BACKWARD_ACCUMULATE)) give_gradients(std::move(result), ret_gradients);
    return 0;
  });
}

int uh_will_run(uh_node node) { return will_run(*node_of(node)); }
int uh_run_is_plain(void) { return run_is_plain(); }
uh_node uh_failed_node(void) { return give_node(failed_node()); }
int64_t uh_current_run(void) { return current_run(); }
int uh_queue_callback(void (*call)(void*), void* context) {
  return guard(-1, [&] {
    queue_callback(call, context);
    return 0;
  });
}

void uh_set_anomaly(int enabled, int check_nan, const char* (*traceback)(void)) {
  set_anomaly_mode({enabled != 0, check_nan != 0}, traceback);
}
int uh_anomaly(void) {
  const AnomalyMode mode = anomaly_mode();
  return (mode.enabled ? UH_ANOMALY_ENABLED : 0) | (mode.check_nan ? UH_ANOMALY_CHECK_NAN : 0);
}

void uh_raise(const char* token) { set_last_error(ErrorKind::kForeign, token); }

// ---- saved_tensors_hooks

namespace {

class PackedObject final : public Packed {
 public:
  PackedObject(void* object, uh_pack_calls calls) : object_(object), calls_(calls) {}
  ~PackedObject() override {
    const OutsideCalls host;
    if (!is_host_finalizing()) calls_.release(object_);
  }
  Tensor unpack() override {
    const uh_handle result = [&] {
      const OutsideCalls host;
      return calls_.unpack(object_);
    }();
    if (!result) throw_last_error();
    return Tensor(Ref<TensorImpl>::adopt(impl_of(result)));
  }
  void* object() const override { return object_; }

 private:
  void* object_;
  uh_pack_calls calls_;
};

thread_local uh_pack_calls t_pack_calls{};

Ref<Packed> pack(const Tensor& tensor) {
  const uh_handle argument = give(tensor);
  void* packed = [&] {
    const OutsideCalls host;
    return t_pack_calls.pack(argument);
  }();
  if (!packed) throw_last_error();
  return make_ref<PackedObject>(packed, t_pack_calls);
}

}  // namespace

void uh_set_pack(const uh_pack_calls* calls, int active) {
  if (calls) t_pack_calls = *calls;
  set_pack(pack, active != 0);
}

int uh_node_saved_hooks(uh_node node, const char* name, void* packed, const uh_pack_calls* calls) {
  return guard(-1, [&] {
    SavedTensor* saved = find_saved(*node_of(node), name);
    check(saved && saved->defined(*node_of(node)), "there is nothing saved under the name ", name);
    saved->replace(*node_of(node), make_ref<PackedObject>(packed, *calls));
    return 0;
  });
}
void* uh_node_packed(uh_node node, const char* name) {
  const SavedTensor* saved = find_saved(*node_of(node), name);
  const Ref<Packed> packed = saved ? saved->packed(*node_of(node)) : nullptr;
  return packed ? packed->object() : nullptr;
}
