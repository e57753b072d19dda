// forward_inplace_self: what an operator in place gives is the tensor that it wrote; whoever uses
// the result uses that tensor.
//
// So that one Value stands for one tensor, as the rules about writes want it.
#include "jit/pass.h"
#include "jit/schema_matching/signature.h"

namespace uh::jit {
namespace {

void forward_inplace_self(Graph& graph) {
  graph.each_node([&](Node* node) {
    const std::vector<Value*> written = given_back(*node);
    for (size_t i = 0; i < written.size(); ++i) {
      if (!node->output(i)->has_uses()) continue;
      Rewrite r(graph, "y = x.op_() -> y is x", {node});
      r.because("an operator in place gives the tensor that it wrote");
      node->output(i)->replace_uses_with(written[i]);
    }
  });
}

}  // namespace

extern const Pass pass_forward_inplace_self;
const Pass pass_forward_inplace_self{
    "forward_inplace_self", "Uses of what an operator in place gives become uses of what it wrote.",
    forward_inplace_self};

}  // namespace uh::jit
