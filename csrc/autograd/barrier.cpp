#include "autograd/barrier.h"

#include "autograd/meta.h"
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

bool enter(const OperatorInfo& op, const Tensor* const* arguments, size_t n) {
  bool wanted = false;
  for (size_t i = 0; i < n; ++i) wanted = wanted || requires_grad(*arguments[i]);
  if (!wanted || op.differentiation() != Differentiation::kMissing) return false;
  const Schema& schema = op.schema();
  for (const Argument& argument : schema.arguments) {
    check(!(argument.written && argument.keyword_only), schema.name,
          "(): functions with out=... arguments don't support automatic differentiation, but one "
          "of the arguments requires grad.");
  }
  if (schema.writes()) check_inplace(*arguments[0], true);
  return true;
}

void leave(const OperatorInfo& op, const Tensor& result) {
  if (!is_differentiable(result.dtype())) return;
  Ref<Node> node = make_ref<NotImplementedNode>("aten::" + op.full_name());
  if (op.schema().writes())
    rebase_history(result, std::move(node));
  else if (!requires_grad(result))
    set_history(result, node);
}

}  // namespace

void set_barrier() { g_barrier = {enter, leave}; }

}  // namespace uh::autograd
