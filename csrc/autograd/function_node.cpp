#include "autograd/function_node.h"

#include "autograd/autograd_meta.h"
#include "autograd/formula.h"
#include "generated/ops/creation.h"
#include "generated/ops/view.h"
#include "tensor/call_scope.h"

namespace uh::autograd {

Gradients FunctionNode::apply(Gradients gradients) {
  if (materialize_) {
    for (size_t i = 0; i < gradients.size(); ++i) {
      const InputInfo& info = input(i);
      if (!gradients[i] && info.dtype != DType::kUndefined)
        gradients[i] = ops::zeros(info.sizes, info.dtype, info.device);
    }
  }
  return calls_.apply(context_, std::move(gradients), edges().size());
}

void FunctionNode::release_saved() {
  Node::release_saved();
  calls_.release_saved(context_);
}

void FunctionNode::save(const std::vector<Tensor>& tensors, const std::vector<bool>& outputs) {
  saved_.clear();
  saved_.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    outputs[i] ? saved_[i].save_output(*this, tensors[i]) : saved_[i].save(*this, tensors[i]);
}

Tensor wrap_output(const Ref<Node>& node, const Tensor& output, bool is_input, bool is_dirty,
                   bool is_differentiable) {
  if (!is_differentiable || !uh::autograd::is_differentiable(output.dtype())) {
    node->add_input(output);  // backward receives zeros for it
    if (is_input || !requires_grad(output)) return output;
    return below_autograd([&] { return ops::detach(output); });
  }
  if (is_dirty) {
    check_inplace(output, true);
    output.impl()->bump_version(current_call());
    rebase_history(output, node);
    return output;
  }
  Tensor result = output;
  if (is_input) {
    const GradMode quiet(false);
    result = ops::alias(output);
    result.impl()->set_view_origin(ViewOrigin::kCustomFunction);
  } else if (result.impl()->base()) {
    result.impl()->set_view_origin(ViewOrigin::kCustomFunction);
  }
  set_history(result, node);
  return result;
}

}  // namespace uh::autograd
