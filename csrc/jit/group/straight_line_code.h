// StraightLineCode: a graph without blocks, ready to run node by node. Used for fusion groups that
// cannot be fused, and for their gradients.
//
// Invariant: a slot is cleared after its last use, so a tensor lives no longer than eagerly.
#pragma once

#include "jit/ir/graph.h"

namespace uh::jit {

class FusionGroup;

class StraightLineCode {
 public:
  // Nodes may be constants, lists, operators and fusion groups; throws kInternal for others.
  explicit StraightLineCode(const Graph& graph);

  // Pops the inputs off the stack and pushes the outputs. Throws a NodeError.
  void run(Stack& stack) const;

 private:
  struct Step {
    enum class StepKind : int8_t { kCall, kList, kUnpack, kGroup };
    StepKind is;
    const Node* node = nullptr;  // in a graph that the caller keeps alive
    OperatorInfo* op = nullptr;
    Ref<FusionGroup> group;
    std::vector<size_t> inputs, outputs;
    std::vector<size_t> done;  // slots after their last use
  };

  static void call(const Step& step, Stack& stack);

  size_t n_inputs_ = 0;
  std::unique_ptr<HolderTracker> holders_;  // destroyed after the constants that it reports
  std::vector<IValue> slots_;               // initial values: the constants, else None
  std::vector<Step> steps_;
  std::vector<size_t> outputs_;
};

}  // namespace uh::jit
