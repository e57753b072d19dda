// Builtin: a function of scripted programs that is not a tensor operator: arithmetic of numbers,
// lists, dictionaries, strings, conversions, sizes of tensors.
//
// An OperatorInfo with PyTorch's name and schema, called on boxed values. Nodes refer to it like
// to an operator. Builtins have a separate registry: the dispatcher supports neither two `len`
// nor a `t[]`. A list or dictionary is changed in place if the schema has (a!), and shared by
// reference. Invariant: a builtin that is_pure() gives equal results for equal arguments and has
// no other effect: constant propagation runs it. If violated: an effect happens at the wrong
// time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dispatch/operator.h"
#include "generated/tags.h"

namespace uh::jit {

class Builtin final : public OperatorInfo {
 public:
  // Pops the last `n` values off the stack and pushes the results.
  using Function = void (*)(Stack& stack, size_t n);

  // The schema outlives the builtin.
  Builtin(const FunctionSchema& schema, const char* name_space, Function function, TagSet tags)
      : OperatorInfo(schema, tags), function_(function) {
    set_name_space(name_space);
  }

  // True if its schema has `...`: call() then needs the number of arguments.
  bool is_variadic() const;
  // True if it neither writes nor has side effects.
  bool is_pure() const { return !has_tag(Tag::kHasSideEffects) && !schema().is_mutable(); }

  void call(Stack& stack, size_t n) const { function_(stack, n); }
  // Pops the whole stack for a variadic builtin, else as many values as the schema has arguments.
  void call_boxed(Stack& stack) override;

 private:
  const Function function_;
};

// The overloads of a name ("aten::add"), in the order in which they are tried; may be empty.
const std::vector<const Builtin*>& builtins_named(std::string_view qualified_name);
// Looks up a full name, "aten::add.int"; returns null if it is unknown.
const Builtin* find_builtin(std::string_view full_name);
const std::vector<const Builtin*>& all_builtins();
// Null if the operator is not a builtin.
const Builtin* as_builtin(const OperatorInfo* op);

// Copies a plain array that an operator returned (sizes, Tensor[]) into a List; other values are
// unchanged. Must be called before such a result is stored in a register, so that append() changes
// the program's list.
IValue with_lists(IValue value);

}  // namespace uh::jit
