#include "autograd/not_implemented_fallback.h"

#include <algorithm>

#include "autograd/autograd_meta.h"
#include "dispatch/operator.h"

namespace uh::autograd {
namespace {

// The Node of a result whose operator has no formula: going back through it is an error.
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

bool enter(const OperatorInfo& op, const TensorList& arguments) {
  const bool required = std::any_of(arguments.begin(), arguments.end(),
                                    [](const Tensor* t) { return requires_grad(*t); });
  if (!required || op.differentiation() != Differentiation::kMissing) return false;
  const FunctionSchema& schema = op.schema();
  for (const Argument& argument : schema.arguments) {
    check(!(argument.is_write() && argument.keyword_only), schema.name(),
          "(): functions with out=... arguments don't support automatic differentiation, but one "
          "of the arguments requires grad.");
  }
  if (schema.is_mutable()) check_inplace(*arguments[0], true);
  return true;
}

// The Node leads to the arguments, so that a pass to one of them comes across what is missing.
void leave(const OperatorInfo& op, const TensorList& arguments, const TensorList& results) {
  Ref<Node> node = make_ref<NotImplementedNode>(message(op.name_space(), "::", op.full_name()));
  for (const Tensor* argument : arguments) node->add_edge(*argument);
  if (op.schema().is_mutable()) {
    if (is_differentiable(results[0]->dtype())) rebase_history(*results[0], std::move(node));
    return;
  }
  for (const Tensor* result : results)
    if (!requires_grad(*result)) set_history(*result, node);
}

}  // namespace

void set_barrier() { g_barrier = {enter, leave}; }

}  // namespace uh::autograd
