// The C ABI of differentiation: Nodes, hooks and autograd.Function.
#include <cstring>
#include <mutex>

#include "autograd/autograd_meta.h"
#include "autograd/formula.h"
#include "autograd/function_node.h"
#include "capi/convert_autograd.h"
#include "capi/returned_string.h"

using namespace uh;            // NOLINT: this file is nothing but calls into uh
using namespace uh::autograd;  // NOLINT

void uh_node_release(uh_node node) { node_of(node)->release(); }
int64_t uh_node_id(uh_node node) { return node_of(node)->id(); }
const char* uh_node_name(uh_node node) {
  return text_of([&] { return node_of(node)->name(); });
}
int64_t uh_node_sequence(uh_node node) { return static_cast<int64_t>(node_of(node)->sequence()); }
int64_t uh_node_edges(uh_node node) { return static_cast<int64_t>(node_of(node)->edges().size()); }
uh_node uh_node_edge(uh_node node, int64_t i, int64_t* ret_input) {
  const Edge& edge = node_of(node)->edges()[static_cast<size_t>(i)];
  *ret_input = edge.input;
  return give_node(edge.node);
}
int64_t uh_node_inputs(uh_node node) { return static_cast<int64_t>(node_of(node)->n_inputs()); }
int uh_node_input(uh_node node, int64_t i, uh_value* ret_sizes, int* ret_dtype) {
  const InputInfo& input = node_of(node)->input(static_cast<size_t>(i));
  *ret_sizes = write_value(IValue(input.sizes));
  *ret_dtype = static_cast<int>(input.dtype);
  return 0;
}
uh_handle uh_node_variable(uh_node node) {
  const Tensor leaf = node_of(node)->variable();
  return leaf ? give(leaf) : 0;
}

// ---- saved values of a Node

namespace {

class Names final : public SavedVisitor {
 public:
  void tensor(std::string_view name, SavedTensor&) override { add(name); }
  void tensors(std::string_view name, std::vector<SavedTensor>&) override { add(name); }
  void value(std::string_view name, const IValue&) override { add(name); }
  std::string text;

 private:
  void add(std::string_view name) {
    if (!text.empty()) text += '\n';
    text += name;
  }
};

class Finder final : public SavedVisitor {
 public:
  explicit Finder(std::string_view name) : name_(name) {}
  void tensor(std::string_view name, SavedTensor& saved) override {
    if (name == name_) single = &saved;
  }
  void tensors(std::string_view name, std::vector<SavedTensor>& saved) override {
    if (name == name_) list = &saved;
    if (!name_.starts_with(name) || name_.size() <= name.size() || name_[name.size()] != '[')
      return;
    const size_t i = std::stoul(std::string(name_.substr(name.size() + 1)));
    if (i < saved.size()) single = &saved[i];
  }
  void value(std::string_view name, const IValue& argument) override {
    if (name == name_) plain = &(copy_ = argument);
  }
  SavedTensor* single = nullptr;
  std::vector<SavedTensor>* list = nullptr;
  const IValue* plain = nullptr;

 private:
  std::string_view name_;
  IValue copy_;
};

}  // namespace

namespace uh {

std::atomic<bool> g_is_host_finalizing{false};
bool is_host_finalizing() { return g_is_host_finalizing.load(std::memory_order_relaxed); }

autograd::SavedTensor* find_saved(autograd::Node& node, std::string_view name) {
  Finder finder(name);
  node.each_saved(finder);
  return finder.single;
}

}  // namespace uh

const char* uh_node_saved_names(uh_node node) {
  return text_of([&] {
    Names names;
    node_of(node)->each_saved(names);
    return std::move(names.text);
  });
}

int uh_node_saved(uh_node handle, const char* name, uh_value* ret_value) {
  return guard(-1, [&] {
    calls::use_any();
    Node& node = *node_of(handle);
    Finder finder(name);
    node.each_saved(finder);
    if (finder.single) {
      SavedTensor& saved = *finder.single;
      const Tensor result = saved.was_defined() ? saved.unpack(node, true) : Tensor();
      *ret_value = result ? write_value(IValue(result)) : write_value(IValue());
    } else if (finder.list) {
      *ret_value = write_value(IValue(unpack_all(node, *finder.list)));
    } else {
      check_kind(finder.plain, ErrorKind::kIndex, node.name(), ": nothing is saved as ", name);
      *ret_value = write_value(*finder.plain);
    }
    return 0;
  });
}

int uh_node_saved_version(uh_node node, const char* name, int64_t* ret_saved, int64_t* ret_now) {
  const SavedTensor* saved = find_saved(*node_of(node), name);
  const Tensor tensor = saved ? saved->tensor(*node_of(node)) : Tensor();
  if (!tensor) return -1;
  const CallSection call;
  calls::use(tensor.impl());
  *ret_saved = saved->version();
  *ret_now = tensor.impl()->version();
  return 0;
}

const char* uh_node_traceback(uh_node node) { return node_of(node)->forward_traceback().c_str(); }
uh_node uh_node_created_by(uh_node node) { return give_node(node_of(node)->created_by()); }

int uh_node_apply(uh_node node, const uh_handle* gradients, int64_t n, uh_handle* ret,
                  int64_t n_ret) {
  return guard(-1, [&] {
    calls::use_any();
    Gradients argument(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) argument[static_cast<size_t>(i)] = take(gradients[i]);
    Gradients result = node_of(node)->apply(std::move(argument));
    for (int64_t i = 0; i < n_ret; ++i) {
      const auto at = static_cast<size_t>(i);
      ret[i] = at < result.size() && result[at] ? give(std::move(result[at])) : 0;
    }
    return 0;
  });
}

void* uh_node_metadata(uh_node node) { return node_of(node)->metadata(); }
void uh_node_set_metadata(uh_node node, void* object, void (*release)(void*)) {
  node_of(node)->set_metadata(std::shared_ptr<void>(object, [release](void* metadata) {
    const OutsideCalls host;
    if (!is_host_finalizing()) release(metadata);
  }));
}
void uh_host_finalizing(void) { g_is_host_finalizing = true; }

// ---- hooks

namespace {

std::vector<uh_handle> lend(const Tensor* tensors, size_t n) {
  std::vector<uh_handle> handles(n + 1);
  for (size_t i = 0; i < n; ++i)
    handles[i] = tensors[i] ? reinterpret_cast<uh_handle>(tensors[i].impl()) : 0;
  return handles;
}

class CalledHook final : public Hook {
 public:
  CalledHook(int64_t id, uh_hook_fn call, void* context, void (*release)(void*))
      : Hook(id), call_(call), context_(context), release_(release) {}
  ~CalledHook() override {
    const OutsideCalls host;
    if (!is_host_finalizing()) release_(context_);
  }

  void call(Tensor* gradients, size_t n, const Tensor* from, size_t n_from) override {
    const auto lent = lend(gradients, n);
    auto handles = lent;
    const auto others = lend(from, n_from);
    const int status = [&] {
      const OutsideCalls host;
      return call_(context_, handles.data(), static_cast<int64_t>(n), others.data(),
                   static_cast<int64_t>(n_from));
    }();
    for (size_t i = 0; i < n; ++i) {
      if (handles[i] == lent[i]) continue;
      gradients[i] = Tensor(Ref<TensorImpl>::adopt(impl_of(handles[i])));
    }
    if (status != 0) throw_last_error();
  }
  void* object() const override { return context_; }

 private:
  uh_hook_fn call_;
  void* context_;
  void (*release_)(void*);
};

// retain_grad: stores the gradient of a non-leaf tensor as its .grad.
class RetainHook final : public Hook {
 public:
  RetainHook(int64_t id, TensorImpl* tensor) : Hook(id), tensor_(tensor) {}
  void forget() override {
    const std::lock_guard<std::mutex> guard(lock_);
    tensor_ = nullptr;
  }
  void call(Tensor* gradients, size_t, const Tensor*, size_t) override {
    const Tensor tensor = alive();
    if (!gradients[0] || !tensor) return;
    AutogradMeta& m = meta(tensor);
    if (const Tensor grad = m.grad()) {
      set_grad(tensor, grad + gradients[0]);
    } else {  // a copy: the gradient may be shared, or expanded
      set_grad(tensor, ops::clone(gradients[0], MemoryFormat::kContiguous));
    }
  }

 private:
  Tensor alive() {
    const std::lock_guard<std::mutex> guard(lock_);
    if (!tensor_ || !tensor_->try_retain()) return Tensor();
    return Tensor(Ref<TensorImpl>::adopt(tensor_));
  }

  std::mutex lock_;
  TensorImpl* tensor_;  // not owned: it owns the Node that owns this
};

std::atomic<int64_t> g_hooks{0};

}  // namespace

int64_t uh_add_hook(uint64_t index, int kind, uh_hook_fn call, void* context,
                    void (*release)(void*)) {
  return guard(int64_t{-1}, [&] {
    const int64_t id = ++g_hooks;
    if (kind == UH_HOOK_RETAIN_GRAD) {
      const Tensor tensor = take(index);
      retain_grad(tensor, make_ref<RetainHook>(id, tensor.impl()));
      return id;
    }
    Ref<Hook> hook = make_ref<CalledHook>(id, call, context, release);
    if (kind == UH_HOOK_BEFORE || kind == UH_HOOK_AFTER) {
      const auto list = kind == UH_HOOK_BEFORE ? &Node::Hooks::before : &Node::Hooks::after;
      node_of(index)->add_hook(list, std::move(hook));
      return id;
    }
    const Tensor tensor = take(index);
    AutogradMeta& m = meta(tensor);
    if (kind == UH_HOOK_POST_ACCUMULATE) {
      check(is_leaf(tensor), "post accumulate grad hooks cannot be registered on non-leaf tensors");
      const std::lock_guard guard(m.lock);
      m.after_accumulate.push_back(std::move(hook));
    } else if (const Edge history = history_of(tensor); history.node) {
      history.node->add_hook(&Node::Hooks::tensor, history.input, std::move(hook));
    } else {
      const std::lock_guard guard(m.lock);
      m.hooks.push_back(std::move(hook));
    }
    return id;
  });
}

void uh_remove_hook(uint64_t index, int kind, int64_t id) {
  guard(0, [&] {
    if (kind == UH_HOOK_BEFORE || kind == UH_HOOK_AFTER) {
      node_of(index)->remove_hook(id);
      return 0;
    }
    const Tensor tensor = take(index);
    AutogradMeta& m = meta(tensor);
    Ref<Hook> removed[2];  // released after the lock
    {
      const std::lock_guard guard(m.lock);
      removed[0] = extract_hook(m.hooks, id);
      removed[1] = extract_hook(m.after_accumulate, id);
    }
    if (const Ref<Node> node = grad_fn(tensor)) node->remove_hook(id);
    return 0;
  });
}

// ---- host objects that only a tensor or a Node keeps alive

namespace {

// The function table of a Function's context; the same for all, but stored with each context.
struct Context {
  void* object;
  uh_function_calls calls;

  // A Function of a C++ program has no release_saved: its context is not a host object.
  bool is_of_host() const { return calls.release_saved != nullptr; }
  void* host_object() const { return is_of_host() ? object : nullptr; }
};

// Visits objects whose only reference is in a visited object. It takes no references, so it
// releases nothing; the owners' locks keep the visited objects alive.
class OwnedObjects {
 public:
  OwnedObjects(uh_visit_fn visit, void* argument) : visit_(visit), argument_(argument) {}

  void of(const TensorImpl* impl) {
    if (impl->use_count() != 1) return;
    if (const TensorImpl* base = impl->base()) of(base);
    const AutogradMeta* m = maybe_meta(impl);
    if (!m) return;
    const std::lock_guard guard(m->lock);
    hooks(m->hooks);
    hooks(m->after_accumulate);
    if (m->grad_fn_within()) of(m->grad_fn_within().get());
    if (m->grad_within()) of(m->grad_within().impl());
  }
  void of(Node* node) {
    if (node->use_count() != 1) return;
    const std::lock_guard guard(node->lock());
    if (const Node::Hooks* own = node->hooks_within()) {
      hooks(own->tensor);
      hooks(own->before);
      hooks(own->after);
    }
    visit(node->metadata_within());
    Packs packs(*this);
    node->each_saved(packs);
    if (auto* function = dynamic_cast<FunctionNode*>(node))
      visit(static_cast<const Context*>(function->context())->host_object());
  }

 private:
  class Packs final : public SavedVisitor {
   public:
    explicit Packs(OwnedObjects& all) : all_(all) {}
    void tensor(std::string_view, SavedTensor& saved) override {
      const Ref<Packed>& packed = saved.packed_within();
      if (packed && packed->use_count() == 1) all_.visit(packed->object());
    }
    void tensors(std::string_view name, std::vector<SavedTensor>& saved) override {
      for (SavedTensor& element : saved) tensor(name, element);
    }
    void value(std::string_view, const IValue&) override {}

   private:
    OwnedObjects& all_;
  };

  void visit(void* object) {
    if (object) visit_(object, argument_);
  }
  template <class List>
  void hooks(const List& list) {
    for (const auto& entry : list) {
      const Ref<Hook>& hook = hook_in(entry);
      if (hook->use_count() == 1) visit(hook->object());
    }
  }

  uh_visit_fn visit_;
  void* argument_;
};

}  // namespace

void uh_visit_owned(uh_handle self, uh_visit_fn visit, void* argument) {
  OwnedObjects(visit, argument).of(impl_of(self));
}
void uh_node_visit_owned(uh_node node, uh_visit_fn visit, void* argument) {
  OwnedObjects(visit, argument).of(node_of(node));
}

// ---- autograd.Function

namespace {

Gradients call_apply(void* opaque, Gradients gradients, size_t n_results) {
  const auto* context = static_cast<const Context*>(opaque);
  const auto lent = lend(gradients.data(), gradients.size());
  std::vector<uh_handle> result(n_results + 1);
  const int status = [&] {
    const OutsideCalls host;
    return context->calls.apply(context->object, lent.data(),
                                static_cast<int64_t>(gradients.size()), result.data(),
                                static_cast<int64_t>(n_results));
  }();
  Gradients results(n_results);
  for (size_t i = 0; i < n_results; ++i)
    if (result[i]) results[i] = Tensor(Ref<TensorImpl>::adopt(impl_of(result[i])));
  if (status != 0) throw_last_error();
  return results;
}
void call_release(void* opaque) {
  const auto* context = static_cast<const Context*>(opaque);
  const OutsideCalls host;
  if (context->is_of_host() && !is_host_finalizing()) context->calls.release_saved(context->object);
}
void call_destroy(void* opaque) {
  const auto* context = static_cast<const Context*>(opaque);
  const OutsideCalls host;
  if (!context->is_of_host() || !is_host_finalizing()) context->calls.destroy(context->object);
  delete context;
}

FunctionNode& function_of(uh_node node) {
  auto* match = dynamic_cast<FunctionNode*>(node_of(node));
  check(match != nullptr, "the node is not that of an autograd.Function");
  return *match;
}

}  // namespace

uh_node uh_function_node(const char* name, void* object, const uh_function_calls* calls,
                         const uh_handle* inputs, int64_t n) {
  return guard(uh_node{0}, [&] {
    auto node = make_ref<FunctionNode>(name, new Context{object, *calls},
                                       FunctionCalls{call_apply, call_release, call_destroy});
    for (int64_t i = 0; i < n; ++i)
      inputs[i] ? node->add_edge(take(inputs[i])) : node->add_edge(Edge());
    return give_node(std::move(node));
  });
}
int uh_function_save(uh_node node, const uh_handle* tensors, const int* outputs, int64_t n) {
  return guard(-1, [&] {
    function_of(node).save(to_tensors(tensors, n), std::vector<bool>(outputs, outputs + n));
    return 0;
  });
}
uh_list* uh_function_saved(uh_node node) {
  return guard(static_cast<uh_list*>(nullptr), [&] {
    auto match = function_of(node).unpack();
    auto* list = new uh_list{static_cast<int64_t>(match.size()), new uh_handle[match.size() + 1]};
    for (size_t i = 0; i < match.size(); ++i) list->items[i] = match[i] ? give(match[i]) : 0;
    return list;
  });
}
void uh_function_materialize(uh_node node, int on) { function_of(node).set_materialize(on != 0); }
void* uh_function_context(uh_node node) {
  auto* match = dynamic_cast<FunctionNode*>(node_of(node));
  return match ? static_cast<const Context*>(match->context())->host_object() : nullptr;
}
int uh_function_skip_output(uh_node node) {
  node_of(node)->add_undefined_input();
  return 0;
}
uh_handle uh_function_output(uh_node node, uh_handle output, int flags) {
  return guard(uh_handle{0}, [&] {
    return give(wrap_output(take_node(node), take(output), (flags & UH_OUTPUT_IS_INPUT) != 0,
                            (flags & UH_OUTPUT_IS_DIRTY) != 0,
                            (flags & UH_OUTPUT_IS_DIFFERENTIABLE) != 0));
  });
}
