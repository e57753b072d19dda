// StraightLineCode: a graph without blocks, ready to run node by node. What fusion groups do where
// they cannot be fused, and how their gradients are run.
//
// Invariant: a slot is cleared after its last use, so a tensor lives no longer than eagerly.
#pragma once

#include "jit/ir/graph.h"

namespace uh::jit {

class FusionGroup;

class StraightLineCode {
 public:
  // Nodes may be constants, lists, operators and fusion groups; throws kInternal at any other.
  explicit StraightLineCode(const Graph& graph);

  // Takes the inputs off the stack and leaves the outputs on it. Throws a NodeError.
  void run(Stack& stack) const;

 private:
  struct Step {
    enum class StepKind : int8_t { kCall, kList, kUnpack, kGroup };
    StepKind is;
    const Node* node = nullptr;  // of a graph that the caller keeps alive
    OperatorInfo* op = nullptr;
    Ref<FusionGroup> group;
    std::vector<size_t> inputs, outputs;
    std::vector<size_t> done;  // slots that nothing reads any more
  };

  static void call(const Step& step, Stack& stack);

  size_t n_inputs_ = 0;
  std::unique_ptr<HolderTracker> holders_;  // destroyed after the constants that it reports
  std::vector<IValue> slots_;               // as a run begins: the constants, else None
  std::vector<Step> steps_;
  std::vector<size_t> outputs_;
};

}  // namespace uh::jit
