#include "autograd/not_implemented_fallback.h"

#include <algorithm>

#include "autograd/autograd_meta.h"
#include "dispatch/operator.h"
#include "generated/tags.h"

namespace uh::autograd {
namespace {

// The Node of a result whose operator has no formula: running it throws.
class NotImplementedNode final : public Node {
 public:
  // It runs as early as AccumulateGrad, as in PyTorch: the pass fails before it computes more.
  explicit NotImplementedNode(std::string op) : Node(UINT64_MAX), op_(std::move(op)) {}
  std::string name() const override { return "NotImplemented"; }
  Gradients apply(Gradients) override {
    fail(ErrorKind::kRuntime, "derivative for ", op_, " is not implemented");
  }

 private:
  std::string op_;
};

// True if PyTorch treats the out= form like an operator without a formula: the written tensor joins
// the graph.
bool joins_as_out(const OperatorInfo& op) {
  return op.has_tag(Tag::kViewCopy) || op.has_tag(Tag::kOutWithoutFormula);
}

// False for a leaf that requires grad, a view of one, and a view that may not be written where
// gradients are recorded.
bool can_join(const Tensor& written) {
  if (written.impl()->view_origin() != ViewOrigin::kDefault) return false;
  TensorImpl* base = written.impl()->base();
  return !requires_grad(written) || (!is_leaf(written) && !(base && is_leaf(Tensor::share(base))));
}

// The edge to an argument as it was before the call, which may have written the base that the
// argument views.
Edge edge_before(const Tensor& argument) {
  const AutogradMeta* known = maybe_meta(argument.impl());
  if (known && known->has_grad_fn()) return known->history();
  return known && known->requires_grad ? Edge{grad_accumulator(argument), 0} : Edge{};
}

bool enter(const OperatorInfo& op, const TensorList& arguments) {
  const bool required = std::any_of(arguments.begin(), arguments.end(),
                                    [](const Tensor* t) { return requires_grad(*t); });
  if (!required || op.differentiation() != Differentiation::kMissing) return false;
  const FunctionSchema& schema = op.schema();
  if (schema.is_out()) {
    check(joins_as_out(op) && can_join(*arguments.back()), schema.name(),
          "(): functions with out=... arguments don't support automatic differentiation, but one "
          "of the arguments requires grad.");
    return true;
  }
  if (schema.is_mutable()) check_inplace(*arguments[0], true);
  for (const Tensor* argument : arguments) history_of(*argument);  // what edge_before() reads
  return true;
}

// The Node has edges to the arguments, so that a pass to one of them runs it and fails.
void leave(const OperatorInfo& op, const TensorList& arguments, const TensorList& results) {
  Ref<Node> node = make_ref<NotImplementedNode>(op.qualified_name());
  for (const Tensor* argument : arguments) node->add_edge(edge_before(*argument));
  if (op.schema().is_mutable()) {
    const Tensor& written = op.schema().is_out() ? *arguments.back() : *arguments[0];
    if (is_differentiable(written.dtype())) rebase_history(written, std::move(node));
    return;
  }
  for (const Tensor* result : results)
    if (!requires_grad(*result)) set_history(*result, node);
}

}  // namespace

void set_barrier() { g_barrier = {enter, leave}; }

}  // namespace uh::autograd
