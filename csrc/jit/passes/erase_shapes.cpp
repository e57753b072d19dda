// erase_shapes: what a trace saw of its tensors is not promised to the next call.
//
// A traced graph has the sizes and strides of its example inputs in its types, and so has what was
// traced and inlined. Only the graph's own inputs keep what their types say: those are guarded.
#include "jit/pass.h"

namespace uh::jit {
namespace {

void erase(Graph& graph, Node* node, const std::vector<Value*>& values) {
  for (Value* value : values) {
    TypeRef plain = without_facts(value->type());
    if (same_type(*plain, *value->type())) continue;
    Rewrite rewrite(graph, "Float(2, 3) -> Tensor", {node});
    rewrite.because("the types of a trace are those of its example inputs");
    value->set_type(std::move(plain));
  }
}

void run(Graph& graph) {
  graph.each_node([&](Node* node) {
    // A constant is the tensor itself.
    if (!node->is("prim::Constant")) erase(graph, node, node->outputs());
    for (Block* block : node->blocks()) erase(graph, node, block->params());
  });
}

}  // namespace

extern const Pass pass_erase_shapes;
const Pass pass_erase_shapes{"erase_shapes", "Types forget what a trace saw of its example inputs.",
                             run};

}  // namespace uh::jit
