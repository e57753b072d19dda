// Tracing: records a thread's operator calls as a graph. Note [Tracing] of dispatch/operator.h.
//
// What: between begin and end every outermost operator call becomes a Node, its tensors Values. A
// tensor that is neither an input nor a result is a constant, and so is every number: Python
// computed it during the trace, and another input cannot change it. Sizes (size_of) are tensors
// without dimensions during a trace, so that computations with them stay in the graph. If one
// becomes an int argument of an operator, the caller says which (give_argument), and the graph gets
// an aten::Int. A submodule that is called has its nodes in a separate block (enter, leave), and at
// the end in a separate method: fixup_trace_scope_blocks.h. Invariant: `values_` holds a reference
// on every tensor in it, so that no address is used twice. A write in place gives its tensor a new
// Value.
#pragma once

#include <unordered_map>
#include <vector>

#include "jit/trace/fixup_trace_scope_blocks.h"
#include "tensor/holder_tracker.h"

namespace uh::jit {

class Function;

class TracingState {
 public:
  // The trace of this thread; throws when there is one already, or none.
  static void begin(std::string name);
  static TracingState& current();
  static bool on();
  static void abort();
  // True if this thread's calls are traced at present: not those that an operator makes inside.
  static bool records();

  // As in Python's traces: numbers of arithmetic are tensors, and unused nodes are removed.
  void as_in_python() { as_in_python_ = true; }

  Value* add_input(std::string_view name, const IValue& value);
  // A module: its tensors are read by attribute where they are first used, also of submodules.
  Value* add_self(const IValue& module);
  // The nodes recorded until leave() are those of this module, which is part of that of add_self.
  void enter(const IValue& module);
  void leave();
  // Ends the trace; the graph returns this. Modules that were entered have their methods then.
  GraphRef end(const IValue& result);

  Graph& graph() const { return *graph_; }
  // The Value of a tensor or number at present; a constant for an unknown tensor.
  Value* value_of(const IValue& value);
  void record(const OperatorInfo& op, const Stack& arguments, const Stack& results);
  // The same of a builtin or operator that Python found its own way around: `result` is there.
  void record(std::string_view full_name, const Stack& arguments, const Tensor& result);
  // Calls a compiled function, with its arguments on the stack: one node, its branches kept.
  void call(Function& function, Stack& stack);

  // A size of the tensor, or with `name` "numel" all of them multiplied, as a tensor.
  Tensor size_of(const Tensor& tensor, std::string_view name, int64_t dim);
  // The next operator's argument, or element `index` of it (-1: the whole), is this tensor's value.
  void give_argument(std::string name, int64_t index, Tensor tensor);
  void forget_arguments() { traced_arguments_.clear(); }
  // The names of tensors in Python at present: a Value without a name takes it at its next use.
  void set_names(std::vector<std::pair<const TensorImpl*, std::string>> names);

 private:
  explicit TracingState(std::string name);
  void know(const Tensor& tensor, Value* value);
  void know_parts(const IValue& value, Value* container);
  Value* object_value(const Object* object);
  void find_attributes(const Object* module);
  Value* attribute_of(const TensorImpl* impl);
  Value* placeholder(const AttributeRef& ref, TypeRef type);
  Value* used(const TensorImpl* impl, Value* value);
  Value* build(Symbol kind, const std::vector<Value*>& parts, TypeRef type);
  Value* argument(const OperatorInfo& op, size_t i, const IValue& value);
  Value* number_from(const Tensor& tensor, const Type& type);
  void add_results(Node* node, const OperatorInfo& op, const Stack& arguments,
                   const Stack& results);

  struct TracedValue {
    Tensor tensor;
    Value* value;
    int64_t when;  // counts up
  };
  // Another description of memory that is known, made by no operator: autograd gives a Node its own
  // result back that way. The one that was set last, or null.
  const TracedValue* same_memory(const Tensor& tensor) const;
  struct TracedArgument {
    std::string name;
    int64_t index;
    Tensor tensor;
  };
  const TracedArgument* find_traced(std::string_view name, int64_t index) const;

  GraphRef graph_;
  bool as_in_python_ = false;
  std::unique_ptr<HolderTracker> holders_;  // destroyed after the tensors that it reports
  std::unordered_map<const TensorImpl*, TracedValue> values_;
  int64_t last_time_ = 0;
  Scopes scopes_;
  std::vector<Node*> entered_;
  std::unordered_map<const TensorImpl*, AttributeRef> attribute_refs_;
  std::unordered_map<const Object*, Value*> objects_;
  std::vector<TracedArgument> traced_arguments_;
  std::unordered_map<const TensorImpl*, std::string> names_;
};

// Removes unused nodes without effects, as at the end of PyTorch's traces: random numbers too.
void remove_dead_of_trace(Graph& graph);

// Gives the Value this name as PyTorch does in traces: its previous owner becomes x.1, x.3...
void take_name(Value* value, const std::string& name);

}  // namespace uh::jit
