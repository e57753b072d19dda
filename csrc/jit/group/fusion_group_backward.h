// The gradient of a FusionGroup: one Node for all of its operators.
//
// Note [Gradients of groups]: the Node saves the group's inputs. In a backward pass the Subgraph's
// operators run again, eagerly and recorded, and the engine runs their backward. The first such
// pass for inputs of certain sizes is traced: its calls become a graph (inputs and incoming
// gradients to gradients), which is optimised and fused as any other, and which later passes run. A
// pass that records gradients itself (create_graph) always runs the operators.
#pragma once

#include <mutex>

#include "autograd/saved_tensor.h"
#include "jit/group/fusion_group.h"

namespace uh::jit {

class GroupGradient final : public RefCounted {
 public:
  explicit GroupGradient(FusionGroup& group) : group_(group) {}

  // `inputs`: the group's; `gradients`: one per output, empty if undefined; `expected`: the inputs
  // that need a gradient. Returns one gradient per input, empty for zero.
  std::vector<Tensor> backward(Stack inputs, const std::vector<Tensor>& gradients,
                               const std::vector<bool>& expected);
  // The graphs that backward passes run, for display.
  std::vector<GraphRef> graphs();

 private:
  // For inputs of these dtypes and sizes; without code if the operators must run.
  struct Traced {
    std::string key;
    GraphRef graph;
    std::unique_ptr<StraightLineCode> code;
  };
  std::vector<Tensor> through_operators(const Stack& inputs, const std::vector<Tensor>& gradients,
                                        const std::vector<bool>& expected, bool create_graph) const;
  GraphRef trace(const Stack& inputs, const std::vector<Tensor>& gradients,
                 const std::vector<bool>& expected, std::vector<Tensor>& result) const;

  FusionGroup& group_;
  std::mutex lock_;
  std::vector<std::unique_ptr<Traced>> traced_;
};

// Connects `outputs`, which the group has computed from `inputs`, to the autograd graph.
void record_group(Ref<FusionGroup> group, Stack inputs, const std::vector<Tensor>& outputs);

}  // namespace uh::jit
