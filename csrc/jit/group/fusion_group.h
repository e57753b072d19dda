// FusionGroup: what a prim::FusionGroup node runs: its Subgraph as a fused program.
//
// What: the pass `fuse` puts pointwise nodes, and the sums over them, into the Subgraph of a
// prim::FusionGroup. Its inputs are tensors and numbers, its outputs tensors. The group becomes a
// FusedKernel (fused/program.h) for the dtypes that come; where none can be made, and where a
// trace or a tensor of another device is to see every operator, the Subgraph's nodes run one by
// one. Invariant: both ways give the same tensors, and gradients that eager gives
// (Note [Gradients of groups]).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "jit/fused/program.h"
#include "jit/group/straight_line_code.h"
#include "jit/ir/graph.h"

namespace uh::jit {

class GroupGradient;

// Tensors, and as many numbers, that a group reads, and tensors that it makes: fewer than a Builder
// takes, which throws at more.
inline constexpr size_t kMaxGroupInputs = 24, kMaxGroupOutputs = 12;

class FusionGroup final : public RefCounted {
 public:
  explicit FusionGroup(GraphRef subgraph);
  ~FusionGroup() override;

  const Graph& subgraph() const { return *subgraph_; }
  int64_t id() const { return id_; }  // of events: `kernel`

  // Takes the inputs off the stack and leaves the outputs on it. `frame` is the interpreter's.
  void run(Stack& stack, int64_t frame = 0);
  // The same node by node, each call through the dispatcher.
  void run_nodes(Stack& stack) const { code_.run(stack); }

  GroupGradient& gradient() { return *gradient_; }
  // True if a gradient of this output leads to this input.
  bool depends(size_t output, size_t input) const { return depends_[output][input]; }
  // fused::describe's JSON of the program for the promised dtypes, or "".
  std::string describe();

 private:
  // A program, for inputs of these kinds and floats of this default dtype. Null: there is none.
  struct Compiled {
    std::vector<fused::TermKind> kinds;
    DType default_dtype;
    fused::ProgramRef program;
    std::atomic<uint32_t> recorded{0};  // in which recording FUSED_NEW was
  };
  bool may_fuse(const Stack& stack, size_t first) const;
  Compiled& compiled_for(const std::vector<fused::TermKind>& kinds);
  void run_program(Compiled& compiled, Stack& stack, int64_t frame);
  void record(Compiled& compiled, const fused::Launch& launch, int64_t frame) const;

  const GraphRef subgraph_;
  const StraightLineCode code_;
  const int64_t id_;
  bool reduces_ = false;  // then ranks are promises, too
  std::vector<std::vector<bool>> depends_;
  std::mutex lock_;
  std::vector<std::unique_ptr<Compiled>> compiled_;
  Ref<GroupGradient> gradient_;
};

// The group of a prim::FusionGroup: made at the first question, and kept with the node.
Ref<FusionGroup> fusion_group_of(const Node& node);

// The program of a Subgraph whose tensor inputs are of these kinds; null where it cannot be one.
fused::ProgramRef compile_group(const Graph& subgraph, const std::vector<fused::TermKind>& kinds);
// The dtypes that the types of the Subgraph's inputs promise, or suggest; nothing for another
// device.
std::optional<std::vector<fused::TermKind>> promised_kinds(const Graph& subgraph);

}  // namespace uh::jit
