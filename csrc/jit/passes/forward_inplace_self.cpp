// forward_inplace_self: replaces uses of an in-place operator's result by the tensor that it
// wrote.
//
// Afterwards each tensor has one Value, as the rules about writes require.
#include "jit/pass.h"
#include "jit/schema_matching/signature.h"

namespace uh::jit {
namespace {

void forward_inplace_self(Graph& graph) {
  graph.each_node([&](Node* node) {
    const std::vector<Value*> written = returned_inputs(*node);
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
    "forward_inplace_self",
    "Replaces uses of an in-place operator's result by the tensor that it wrote.",
    forward_inplace_self};

}  // namespace uh::jit
