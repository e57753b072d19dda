// Signature: what an operator or builtin takes and gives, as types of the JIT.
//
// What: the FunctionSchema with its types as the JIT's.
// Invariant: built once per operator, and cached for the life of the process. The verifier and
// schema matching both call fits(). If violated: the verifier rejects a graph that was built here,
// or accepts one that cannot run.
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
  int64_t fixed_size = 0;  // of int[2]: one int may stand for both; 0: as long as it likes
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
  // The parameters that are the results of an in-place operator whose schema has none.
  std::vector<size_t> given_back;
  bool variadic = false;  // takes more than its parameters, whatever they are
  bool builtin = false;
};

const Signature& signature_of(const OperatorInfo& op);
// The JIT's type for a type of a schema.
TypeRef jit_type(const SchemaType& type);

// The node's results, one by one, where they are the tensors that it wrote: x of x.add_(1). Empty
// for any other node.
std::vector<Value*> given_back(const Node& node);

// The types bound to type variables in one call.
class Bindings {
 public:
  // Binds the variables of `formal` as `actual` has them; "" or why they do not go together. A
  // variable that a list holds is settled, as the list can be written; any other becomes what both
  // are: of `get(self, key, default)` an optional.
  std::string bind(const TypeRef& formal, const TypeRef& actual, bool settled = false);
  // The type with the variables' types in their place; null where one is not bound.
  TypeRef apply(const TypeRef& type) const;

 private:
  struct Bound {
    TypeRef type;
    bool settled;
  };
  std::map<std::string, Bound> bound_;
};

// True if a value of this type may be the argument unconverted; `wanted` is its type with variables
// replaced.
bool fits(const Type& actual, const Type& expected, const Parameter& parameter);

// Checks the types of all arguments of a call, and derives those of its results. "" or the reason
// why they do not fit.
std::string check_arguments(const OperatorInfo& op, const std::vector<TypeRef>& actual_types,
                            std::vector<TypeRef>* results = nullptr);

}  // namespace uh::jit
