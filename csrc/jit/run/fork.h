// Fork: the callee of a prim::fork node: its subgraph as a separate function.
//
// Calling its operator starts the subgraph and returns a Future (builtins/futures.h). Invariant: an
// error in the subgraph is stored in the future and thrown by wait(), not by the node. If violated:
// a program gets an error where it does not expect one.
#pragma once

#include "dispatch/operator.h"
#include "jit/ir/graph.h"

namespace uh::jit {

class Function;

class Fork final : public RefCounted {
 public:
  Fork(GraphRef subgraph, TypeRef future);
  ~Fork() override;

  // Called by the interpreter with a stack that has only the arguments.
  OperatorInfo& op() { return op_; }

 private:
  class Op final : public OperatorInfo {
   public:
    explicit Op(Fork& owner) : OperatorInfo(any_schema()), owner_(owner) { set_name_space("prim"); }
    void call_boxed(Stack& stack) override { owner_.run(stack); }

   private:
    static const FunctionSchema& any_schema() {
      static const auto schema = parse_schema("fork(...) -> Any");
      return *schema;
    }
    Fork& owner_;
  };
  void run(Stack& stack) const;

  Op op_;
  const Ref<Function> function_;
  const TypeRef future_;
};

}  // namespace uh::jit
