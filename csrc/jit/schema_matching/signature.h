// Signature: the arguments and results of an operator or builtin, with types of the JIT.
//
// A FunctionSchema whose types are the JIT's. Invariant: built once per operator, and cached
// for the lifetime of the process. The verifier and schema matching both call fits(). If
// violated: the verifier rejects a graph that was built here, or accepts one that cannot
// run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dispatch/operator.h"
#include "jit/ir/graph.h"
#include "jit/ir/type.h"

namespace uh::jit {

struct Parameter {
  std::string name;
  TypeRef type;            // with type variables
  int64_t fixed_size = 0;  // of int[2], which also accepts one int; 0: any length
  bool has_default = false;
  bool keyword_only = false;
  bool written = false;
  bool takes_number = false;  // an Operand: Tensor or number
  IValue default_value;
};

struct Signature {
  std::vector<Parameter> parameters;
  std::vector<TypeRef> results;
  std::vector<std::string> result_names;
  // The parameters that an in-place operator without results in its schema returns.
  std::vector<size_t> returned_parameters;
  bool variadic = false;  // accepts further arguments of any type
  bool builtin = false;
};

const Signature& signature_of(const OperatorInfo& op);
// Converts a type of a schema to the JIT's.
TypeRef jit_type(const SchemaType& type);

// The node's results one by one, if they are the tensors that it wrote: x for x.add_(1). Empty for
// any other node.
std::vector<Value*> returned_inputs(const Node& node);

// The types bound to type variables in one call.
class Bindings {
 public:
  // Binds the variables of `formal` to types in `actual`; returns "" or the mismatch. A variable
  // within a list must match exactly, as the list is mutable; any other becomes the common
  // supertype: an optional for `get(self, key, default)`.
  std::string bind(const TypeRef& formal, const TypeRef& actual, bool settled = false);
  // Substitutes the variables; null if one is not bound.
  TypeRef apply(const TypeRef& type) const;

 private:
  struct Bound {
    TypeRef type;
    bool settled;
  };
  std::map<std::string, Bound> bound_;
};

// True if a value of this type may be the argument unconverted; `expected` is the parameter's type
// with variables replaced.
bool fits(const Type& actual, const Type& expected, const Parameter& parameter);

// Checks the types of all arguments of a call, and derives those of its results. Returns "" or the
// mismatch.
std::string check_arguments(const OperatorInfo& op, const std::vector<TypeRef>& actual_types,
                            std::vector<TypeRef>* results = nullptr);

}  // namespace uh::jit
