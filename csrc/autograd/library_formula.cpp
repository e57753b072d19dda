#include "autograd/library_formula.h"

#include <algorithm>
#include <map>

#include "autograd/autograd_meta.h"
#include "autograd/formula.h"
#include "autograd/saved_tensor.h"
#include "generated/ops/creation.h"
#include "generated/ops/view.h"

namespace uh::autograd {
namespace {

// PyTorch's name of such a Node: "GeneratedBackwardFor_ns_op_defaultBackward".
std::string node_name(const OperatorInfo& op) {
  const std::string_view overload = op.schema().overload_name();
  return message("GeneratedBackwardFor_", op.name_space(), "_", op.schema().name(), "_",
                 overload.empty() ? "default" : overload, "Backward");
}

class FormulaNode final : public Node, public FormulaContext {
 public:
  FormulaNode(const OperatorInfo& op, std::shared_ptr<const Formula> formula,
              const Stack& arguments)
      : name_(node_name(op)), formula_(std::move(formula)) {
    for (const IValue& value : arguments) {
      const size_t first = edges().size();
      if (const Tensor* t = value.get_if<Tensor>()) {
        add(*t);
      } else if (const auto* list = value.get_if<std::vector<Tensor>>()) {
        for (const Tensor& t : *list) add(t);
      }
      arguments_.push_back({first, edges().size()});
    }
  }

  std::string name() const override { return name_; }
  void add_result(const Tensor& result) { results_.push_back(result.impl()); }
  void setup_context(const Stack& arguments, const Stack& results) {
    if (formula_->setup_context) formula_->setup_context(*this, arguments, results);
    results_.clear();
  }

  Gradients apply(Gradients gradients) override {
    Stack stack;
    for (size_t i = 0; i < gradients.size(); ++i) {
      const InputInfo& info = input(i);
      if (!gradients[i] && materialize_ && info.dtype != DType::kUndefined)
        gradients[i] = ops::zeros(info.sizes, info.dtype, info.device);
      stack.push_back(to_value(gradients[i]));
    }
    const Stack result = formula_->backward(*this, std::move(stack));
    check(result.size() == arguments_.size(), name_, ": the backward formula returned ",
          result.size(), " gradients; the operator has ", arguments_.size(), " arguments");
    Gradients all(edges().size());
    for (size_t i = 0; i < result.size(); ++i) place_gradient(i, result[i], all);
    return all;
  }

  void each_saved(SavedVisitor& visitor) override {
    visitor.tensors("saved_tensors", saved_);
    for (const auto& [name, value] : values_) visitor.value(name, value);
  }
  void release_saved() override {
    Node::release_saved();
    values_.clear();
  }

  void save_for_backward(const std::vector<Tensor>& tensors) override {
    saved_.clear();
    saved_.resize(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const bool own =
          std::find(results_.begin(), results_.end(), tensors[i].impl()) != results_.end();
      own&& tensors[i] ? saved_[i].save_output(*this, tensors[i])
                       : saved_[i].save(*this, tensors[i]);
    }
  }
  std::vector<Tensor> saved_tensors() override { return unpack_all(*this, saved_, true); }
  void set_value(const std::string& name, IValue value) override {
    values_[name] = std::move(value);
  }
  const IValue* value(const std::string& name) const override {
    const auto it = values_.find(name);
    return it == values_.end() ? nullptr : &it->second;
  }
  bool needs_input_grad(size_t argument) const override {
    if (argument >= arguments_.size()) return false;
    for (size_t e = arguments_[argument].first; e < arguments_[argument].second; ++e)
      if (needs(e)) return true;
    return false;
  }
  void set_materialize_grads(bool on) override { materialize_ = on; }

 private:
  void add(const Tensor& t) { t ? add_edge(t) : add_edge(Edge()); }

  void place_gradient(size_t argument, const IValue& value, Gradients& all) const {
    const auto [first, end] = arguments_[argument];
    if (value.is_none()) return;
    if (const Tensor* t = value.get_if<Tensor>()) {
      check(!*t || end == first + 1, name_,
            ": the backward formula returned a Tensor for argument ", argument,
            ", which is not a Tensor");
      if (*t) all[first] = *t;
      return;
    }
    const auto* list = value.get_if<std::vector<Tensor>>();
    check(list != nullptr, name_, ": the backward formula returned a ", value.type_name(),
          " for argument ", argument, "; expected a Tensor, a list of Tensors or None");
    check(list->size() == end - first, name_, ": the backward formula returned ", list->size(),
          " gradients for argument ", argument, ", which has ", end - first, " Tensors");
    for (size_t i = 0; i < list->size(); ++i) all[first + i] = (*list)[i];
  }

  const std::string name_;
  const std::shared_ptr<const Formula> formula_;
  std::vector<std::pair<size_t, size_t>> arguments_;  // the edges [first, end) of each argument
  std::vector<const TensorImpl*> results_;            // while setup_context runs
  std::vector<SavedTensor> saved_;
  std::map<std::string, IValue> values_;
  bool materialize_ = true;
};

void call_with_formula(BoxedOperator& op, const std::shared_ptr<const Formula>& formula,
                       KeySet keys, Stack& stack) {
  bool needed = false;
  for (const IValue& value : stack)
    each_tensor(value, [&](const Tensor& t) { needed |= requires_grad(t); });
  const Stack arguments = needed ? stack : Stack();
  {
    const BelowAutograd below;
    op.redispatch(keys - Key::kAutograd, stack);
  }
  if (!needed) return;
  const Ref<FormulaNode> node = make_ref<FormulaNode>(op, formula, arguments);
  const auto take_result = [&](Tensor& result) {
    for (const IValue& argument : arguments) {
      each_tensor(argument, [&](const Tensor& t) {
        check(!t.is_same(result), op.name_space(), "::", op.full_name(),
              ": the kernel returned one of its arguments as a result, which an operator with a "
              "gradient formula must not do; return a copy");
      });
    }
    if (!is_differentiable(result.dtype())) {
      node->add_input(result);
      return;
    }
    set_history(result, node);
    node->add_result(result);
  };
  for (IValue& value : stack) {
    if (Tensor* t = value.get_if<Tensor>()) {
      *t ? take_result(*t) : void(node->add_undefined_input());
    } else if (auto* list = value.get_if<std::vector<Tensor>>()) {
      for (Tensor& t : *list) t ? take_result(t) : void(node->add_undefined_input());
    }
  }
  node->setup_context(arguments, stack);
}

}  // namespace

void register_formula(Library& library, std::string_view name, Formula formula,
                      std::string_view kernel_name) {
  BoxedOperator& op = library.find(name);
  check(!op.schema().is_mutable() && !op.schema().is_view(),
        "Cannot register autograd formula for "
        "non-functional operator ",
        op.name_space(), "::", op.schema_text());
  auto shared = std::make_shared<const Formula>(std::move(formula));
  library.implement(
      name, Key::kAutograd,
      [&op, shared](KeySet keys, Stack& stack) { call_with_formula(op, shared, keys, stack); },
      kernel_name);
}

}  // namespace uh::autograd
