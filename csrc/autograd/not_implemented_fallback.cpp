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
  explicit NotImplementedNode(std::string op) : op_(std::move(op)) {}
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

// True for a leaf that requires grad, or a view of one, which cannot join.
bool is_of_leaf(const Tensor& written) {
  const TensorImpl* base = written.impl()->base();
  return requires_grad(written) &&
         (is_leaf(written) || (base && is_leaf(Tensor::share(written.impl()->base()))));
}

bool enter(const OperatorInfo& op, const TensorList& arguments) {
  const bool required = std::any_of(arguments.begin(), arguments.end(),
                                    [](const Tensor* t) { return requires_grad(*t); });
  if (!required || op.differentiation() != Differentiation::kMissing) return false;
  const FunctionSchema& schema = op.schema();
  if (schema.is_out()) {
    check(joins_as_out(op) && !is_of_leaf(*arguments.back()), schema.name(),
          "(): functions with out=... arguments don't support automatic differentiation, but one "
          "of the arguments requires grad.");
    return true;
  }
  if (schema.is_mutable()) check_inplace(*arguments[0], true);
  return true;
}

// The Node has edges to the arguments, so that a pass to one of them runs it and fails.
void leave(const OperatorInfo& op, const TensorList& arguments, const TensorList& results) {
  Ref<Node> node = make_ref<NotImplementedNode>(message(op.name_space(), "::", op.full_name()));
  for (const Tensor* argument : arguments) node->add_edge(*argument);
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
