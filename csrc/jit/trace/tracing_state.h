// TracingState: records a thread's operator calls as a graph. Note [Tracing] of
// dispatch/operator.h.
//
// Between begin and end every outermost operator call becomes a Node, its tensors Values. A
// tensor that is neither an input nor a result is a constant, and so is every number: Python
// computed it during the trace, so it is the same for all inputs. Sizes (size_of) are 0-d
// tensors during a trace, so that computations with them are traced. If one becomes an int
// argument of an operator, the caller registers it (give_argument), and the graph gets an
// aten::Int. The nodes of a called submodule are in a separate block (enter, leave), and at
// the end in a method: fixup_trace_scope_blocks.h. Invariant: `values_` holds a reference to
// every tensor in it, so that no address is reused. An in-place write gives its tensor a new
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
  // Starts this thread's trace; throws if it already has one.
  static void begin(std::string name);
  // Returns this thread's trace; throws if it has none.
  static TracingState& current();
  static bool on();
  static void abort();
  // True if this thread's calls are currently traced; false for calls inside of an operator.
  static bool records();

  // Traces as PyTorch does: numbers in arithmetic are tensors, and unused nodes are removed.
  void as_in_python() { as_in_python_ = true; }

  Value* add_input(std::string_view name, const IValue& value);
  // Adds the traced module: tensors of it and its submodules become attributes at their first use.
  Value* add_self(const IValue& module);
  // Assigns the nodes up to leave() to this module, a submodule of add_self's.
  void enter(const IValue& module);
  void leave();
  // Ends the trace, whose graph returns `result`. Entered modules then have their methods.
  GraphRef end(const IValue& result);

  Graph& graph() const { return *graph_; }
  // The current Value of a tensor or number; a constant for an unknown tensor.
  Value* value_of(const IValue& value);
  void record(const OperatorInfo& op, const Stack& arguments, const Stack& results);
  // The same for an operator that Python computed by other means: `result` already exists.
  void record(std::string_view full_name, const Stack& arguments, const Tensor& result);
  // Calls a compiled function, with its arguments on the stack: one node, its branches kept.
  void call(Function& function, Stack& stack);

  // Returns a size of the tensor as a tensor, or with `name` "numel" their product.
  Tensor size_of(const Tensor& tensor, std::string_view name, int64_t dim);
  // The next operator's argument, or its element `index` (-1: all of it), has this tensor's value.
  void give_argument(std::string name, int64_t index, Tensor tensor);
  void forget_arguments() { traced_arguments_.clear(); }
  // Sets the current Python names of tensors: an unnamed Value is named at its next use.
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
    int64_t when;  // sequence number
  };
  // The latest Value of another TensorImpl over the same memory, or null: autograd passes a Node's
  // own result as a new TensorImpl.
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

// Removes unused nodes without effects, including random numbers, as PyTorch does after tracing.
void remove_dead_of_trace(Graph& graph);

// Names the Value as PyTorch does in traces: the name's previous owner becomes x.1, x.3...
void take_name(Value* value, const std::string& name);

}  // namespace uh::jit
