// FusionGroup: the executor of a prim::FusionGroup node, whose Subgraph is a fused program.
//
// The pass `fuse` moves pointwise nodes, and sums over them, into the Subgraph of a
// prim::FusionGroup. Its inputs are tensors and numbers, its outputs tensors. A FusedKernel
// (fused/program.h) is compiled for the actual dtypes; if that is impossible, or a trace or
// another device must see every operator, the Subgraph's nodes run one by one. Invariant:
// both ways give the same tensors, and the gradients of eager mode (Note [Gradients of
// groups]).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "jit/fused/program.h"
#include "jit/group/straight_line_code.h"
#include "jit/ir/graph.h"

namespace uh::jit {

class GroupGradient;

// Maximum numbers of tensor inputs (and of numbers) and of outputs of a group: less than a
// Builder's limits, at which it throws.
inline constexpr size_t kMaxGroupInputs = 24, kMaxGroupOutputs = 12;

class FusionGroup final : public RefCounted {
 public:
  explicit FusionGroup(GraphRef subgraph);
  ~FusionGroup() override;

  const Graph& subgraph() const { return *subgraph_; }
  int64_t id() const { return id_; }  // `kernel` in events

  // Pops the inputs off the stack and pushes the outputs. `frame` is the interpreter's.
  void run(Stack& stack, int64_t frame = 0);
  // The same node by node, each call through the dispatcher.
  void run_nodes(Stack& stack) const { code_.run(stack); }

  GroupGradient& gradient() { return *gradient_; }
  // True if this output has a gradient with respect to this input.
  bool depends(size_t output, size_t input) const { return depends_[output][input]; }
  // fused::describe's JSON of the program for the assumed dtypes, or "".
  std::string describe();

 private:
  // A program for inputs of these kinds and this default dtype; null if it cannot be compiled.
  struct Compiled {
    std::vector<fused::TermKind> kinds;
    DType default_dtype;
    fused::ProgramRef program;
    std::atomic<uint32_t> recorded{0};  // the last recording with its FUSED_NEW
  };
  bool may_fuse(const Stack& stack, size_t first) const;
  Compiled& compiled_for(const std::vector<fused::TermKind>& kinds);
  void run_program(Compiled& compiled, Stack& stack, int64_t frame);
  void record(Compiled& compiled, const fused::Launch& launch, int64_t frame) const;

  const GraphRef subgraph_;
  const StraightLineCode code_;
  const int64_t id_;
  bool reduces_ = false;  // then ranks are assumed, too
  std::vector<std::vector<bool>> depends_;
  std::mutex lock_;
  std::vector<std::unique_ptr<Compiled>> compiled_;
  Ref<GroupGradient> gradient_;
};

// The group of a prim::FusionGroup, created on demand and cached in the node.
Ref<FusionGroup> fusion_group_of(const Node& node);

// Compiles a Subgraph for tensor inputs of these kinds; null if that is impossible.
fused::ProgramRef compile_group(const Graph& subgraph, const std::vector<fused::TermKind>& kinds);
// The kinds that the types of the Subgraph's inputs state or suggest; nullopt for another
// device.
std::optional<std::vector<fused::TermKind>> promised_kinds(const Graph& subgraph);

}  // namespace uh::jit
