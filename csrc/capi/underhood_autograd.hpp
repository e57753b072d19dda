// Custom differentiable functions in C++: PyTorch's torch::autograd::Function.
//
//   struct Square : uh::autograd::Function<Square> {
//     static uh::Tensor forward(uh::autograd::AutogradContext* ctx, const uh::Tensor& x) {
//       ctx->save_for_backward({x});
//       return x * x;
//     }
//     static uh::autograd::tensor_list backward(uh::autograd::AutogradContext* ctx,
//                                               uh::autograd::tensor_list gradients) {
//       return {gradients[0] * ctx->get_saved_variables()[0] * 2};
//     }
//   };
//   uh::Tensor y = Square::apply(x);
//
// apply runs forward without recording and connects its results to a Node, which runs backward.
// Invariant: backward returns one gradient per argument of forward, empty for arguments without
// one. If violated: the backward pass fails with an error message.
#ifndef UNDERHOOD_AUTOGRAD_HPP
#define UNDERHOOD_AUTOGRAD_HPP

#include <unordered_map>

#include "capi/underhood_library.hpp"

namespace uh {
inline namespace v1 {

// Switches grad mode on or off for a scope.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : before_(uh_grad_enabled()) { uh_set_grad_enabled(enabled); }
  ~AutoGradMode() { uh_set_grad_enabled(before_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  int before_;
};
class NoGradGuard : public AutoGradMode {
 public:
  NoGradGuard() : AutoGradMode(false) {}
};

namespace autograd {

using Variable = Tensor;
using tensor_list = std::vector<Tensor>;
using variable_list = std::vector<Tensor>;

// Holds what forward saves for backward.
class AutogradContext {
 public:
  void save_for_backward(tensor_list tensors) { to_save_ = std::move(tensors); }
  tensor_list get_saved_variables() const {
    if (!node_) return to_save_;
    uh_list* const list = uh_function_saved(node_);
    detail::check(list != nullptr);
    tensor_list saved;
    for (int64_t i = 0; i < list->n; ++i)
      saved.push_back(list->items[i] ? Tensor::adopt_wrapped(list->items[i]) : Tensor());
    uh_list_free(list);
    return saved;
  }
  // Saved values that are not Tensors.
  std::unordered_map<std::string, Value> saved_data;
  void mark_dirty(const tensor_list& inputs) { dirty_ = inputs; }
  void mark_non_differentiable(const tensor_list& outputs) { plain_ = outputs; }
  void set_materialize_grads(bool on) { materialize_ = on; }
  bool needs_input_grad(size_t argument) const {
    return argument < needs_.size() && needs_[argument];
  }

 private:
  template <class T>
  friend class Function;
  uh_node node_ = 0;  // owns this object
  tensor_list to_save_, dirty_, plain_;
  std::vector<bool> needs_;
  std::vector<size_t> tensor_arguments_;
  bool materialize_ = true;
};

template <class T>
class Function {
 public:
  // The results of T::forward, connected to a Node if an argument requires grad.
  template <class... A>
  static auto apply(A&&... arguments) {
    auto context = std::make_unique<AutogradContext>();
    AutogradContext* const ctx = context.get();
    std::vector<Tensor> inputs;
    size_t position = 0;
    (add_input(*ctx, inputs, position++, arguments), ...);
    uh_node node = 0;
    if (uh_grad_enabled() && std::any_of(inputs.begin(), inputs.end(),
                                         [](const Tensor& t) { return t && t.requires_grad(); }))
      node = new_node(context, inputs);
    struct Release {
      uh_node node;
      ~Release() {
        if (node) uh_node_release(node);
      }
    } const release{node};
    auto result = [&] {
      const NoGradGuard no_grad;
      return T::forward(ctx, std::forward<A>(arguments)...);
    }();
    using Result = decltype(result);
    static_assert(std::is_same_v<Result, Tensor> || std::is_same_v<Result, tensor_list>,
                  "forward returns a Tensor or a std::vector of them");
    if (!node) return result;
    ctx->node_ = node;
    if constexpr (std::is_same_v<Result, Tensor>) {
      return connect(*ctx, inputs, {result})[0];
    } else {
      return connect(*ctx, inputs, result);
    }
  }

 private:
  template <class A>
  static void add_input(AutogradContext& ctx, std::vector<Tensor>& inputs, size_t position,
                        const A& argument) {
    bool needs = false;
    if constexpr (std::is_same_v<A, Tensor>) {
      if (argument) {
        ctx.tensor_arguments_.push_back(position);
        inputs.push_back(argument);
        needs = uh_grad_enabled() && argument.requires_grad();
      }
    } else if constexpr (std::is_same_v<A, std::optional<Tensor>>) {
      return add_input(ctx, inputs, position, argument.value_or(Tensor()));
    }
    ctx.needs_.push_back(needs);
  }

  static std::vector<uh_handle> handles_of(const tensor_list& tensors) {
    std::vector<uh_handle> handles;
    for (const Tensor& t : tensors) handles.push_back(t.handle());
    return handles;
  }

  static uh_node new_node(std::unique_ptr<AutogradContext>& context, const tensor_list& inputs) {
    // Without release_saved: the context is not a Python object.
    static const uh_function_calls calls = {
        run, nullptr, [](void* self) { delete static_cast<AutogradContext*>(self); }};
    const std::vector<uh_handle> handles = handles_of(inputs);
    const uh_node node = uh_function_node(name().c_str(), context.get(), &calls, handles.data(),
                                          static_cast<int64_t>(handles.size()));
    detail::check(node != 0);
    context.release();
    return node;
  }

  // "SquareBackward", as Python's Nodes are named.
  static std::string name() {
    const std::string_view text = __PRETTY_FUNCTION__;
    const size_t from = text.find("T = ") + 4;
    const std::string_view type = text.substr(from, text.find_first_of(";]", from) - from);
    const size_t at = type.rfind("::");
    return std::string(at == std::string_view::npos ? type : type.substr(at + 2)) + "Backward";
  }

  static bool contains(const tensor_list& list, const Tensor& t) {
    return std::any_of(list.begin(), list.end(), [&](const Tensor& u) { return u.is_same(t); });
  }

  static tensor_list connect(AutogradContext& ctx, const tensor_list& inputs,
                             const tensor_list& outputs) {
    tensor_list connected;
    for (const Tensor& output : outputs) {
      if (!output) {
        uh_function_skip_output(ctx.node_);
        connected.emplace_back();
        continue;
      }
      const int flags = (contains(inputs, output) ? UH_OUTPUT_IS_INPUT : 0) |
                        (contains(ctx.dirty_, output) ? UH_OUTPUT_IS_DIRTY : 0) |
                        (contains(ctx.plain_, output) ? 0 : UH_OUTPUT_IS_DIFFERENTIABLE);
      const uint64_t handle = uh_function_output(ctx.node_, output.handle(), flags);
      connected.push_back(handle == output.handle() ? Tensor::adopt(handle)
                                                    : Tensor::adopt_wrapped(handle));
    }
    std::vector<uh_handle> handles;
    std::vector<int> kinds;
    for (const Tensor& tensor : ctx.to_save_) {
      size_t i = 0;
      while (i < outputs.size() && !(tensor && outputs[i].is_same(tensor))) ++i;
      handles.push_back(i < outputs.size() ? connected[i].handle() : tensor.handle());
      kinds.push_back(i < outputs.size());
    }
    detail::check(uh_function_save(ctx.node_, handles.data(), kinds.data(),
                                   static_cast<int64_t>(handles.size())) == 0);
    ctx.to_save_.clear();
    ctx.dirty_.clear();
    ctx.plain_.clear();
    uh_function_materialize(ctx.node_, ctx.materialize_);
    return connected;
  }

  static int run(void* context, const uh_handle* gradients, int64_t n, uh_handle* ret,
                 int64_t n_ret) {
    return detail::guarded([&] {
      auto& ctx = *static_cast<AutogradContext*>(context);
      tensor_list arrived;
      for (int64_t i = 0; i < n; ++i) arrived.push_back(Tensor::share(gradients[i]));
      const tensor_list result = T::backward(&ctx, std::move(arrived));
      if (result.size() < ctx.needs_.size() ||
          std::any_of(result.begin() + static_cast<std::ptrdiff_t>(ctx.needs_.size()), result.end(),
                      [](const Tensor& t) { return t.defined(); }))
        throw Error(UH_ERROR_RUNTIME, "function " + name() +
                                          " returned an incorrect number of gradients (expected " +
                                          std::to_string(ctx.needs_.size()) + ", got " +
                                          std::to_string(result.size()) + ")");
      for (size_t i = 0; i < ctx.needs_.size(); ++i) {
        const auto& positions = ctx.tensor_arguments_;
        if (result[i] && std::find(positions.begin(), positions.end(), i) == positions.end())
          throw Error(UH_ERROR_RUNTIME,
                      "function " + name() +
                          " returned a gradient different from None at position " +
                          std::to_string(i + 1) +
                          ", but the corresponding forward input was not a Variable");
      }
      for (int64_t i = 0; i < n_ret; ++i) {
        const Tensor& gradient = result[ctx.tensor_arguments_[static_cast<size_t>(i)]];
        ret[i] = gradient ? uh_incref(gradient.handle()) : 0;
      }
    });
  }
};

}  // namespace autograd
}  // namespace v1
}  // namespace uh

#endif
