// Builtin: a function of scripted programs other than a tensor operator: arithmetic of numbers,
// lists, dictionaries, strings, conversions, sizes of tensors.
//
// What: an OperatorInfo with PyTorch's name and schema, called on boxed values. Nodes of graphs
// hold it like an operator's. Builtins have a separate registry: the dispatcher could hold
// neither two `len` nor a `t[]`.
// A list or dictionary is changed in place where the schema says (a!), and shared by reference.
// Invariant: a builtin that is_pure() gives the same results for equal arguments, and nothing else:
// constant propagation runs it. If violated: it is run at another time than the program says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dispatch/operator.h"
#include "generated/tags.h"

namespace uh::jit {

class Builtin final : public OperatorInfo {
 public:
  // Takes the last `n` values off the stack and leaves the results.
  using Function = void (*)(Stack& stack, size_t n);

  // The schema outlives the builtin.
  Builtin(const FunctionSchema& schema, const char* name_space, Function function, TagSet tags)
      : OperatorInfo(schema, tags), function_(function) {
    set_name_space(name_space);
  }

  // With `...` in its schema it takes any number of them: call() needs the count.
  bool is_variadic() const;
  // Neither writes nor has side effects.
  bool is_pure() const { return !has_tag(Tag::kHasSideEffects) && !schema().is_mutable(); }

  void call(Stack& stack, size_t n) const { function_(stack, n); }
  // All of the stack for a variadic one, else as many values as the schema has arguments.
  void call_boxed(Stack& stack) override;

 private:
  const Function function_;
};

// Those of a name ("aten::add"), in the order in which they are tried; empty when there are none.
const std::vector<const Builtin*>& builtins_named(std::string_view qualified_name);
// By full name, "aten::add.int"; null when there is none.
const Builtin* find_builtin(std::string_view full_name);
const std::vector<const Builtin*>& all_builtins();
// Null when the operator is none.
const Builtin* as_builtin(const OperatorInfo* op);

// A value that a list may be asked of, as a List: what operators return as plain arrays (sizes,
// Tensor[]) is copied into one. Who keeps results of operators in registers calls this, so that
// append() reaches the list that the program holds.
IValue with_lists(IValue value);

}  // namespace uh::jit
