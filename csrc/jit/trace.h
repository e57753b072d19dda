// Tracing: what a thread's operators do, as a graph. Note [Tracing] of dispatch/operator.h.
//
// What: between begin and end every outermost operator call becomes a Node, its tensors the Values
// that they were when they were made. A tensor that nobody told of is a constant, and so is every
// number: Python decided it while the trace was made, and another input cannot change it.
// Invariant: `values_` holds a reference on every tensor it knows, so that no address is used
// twice. A write in place gives its tensor a new Value.
#pragma once

#include <unordered_map>
#include <vector>

#include "jit/graph.h"

namespace uh::jit {

class Tracing {
 public:
  // The trace of this thread; throws when there is one already, or none.
  static void begin(std::string name);
  static Tracing& current();
  static bool on();
  static void abort();

  Value* add_input(std::string_view name, const IValue& value);
  // A module: its tensors are read by attribute where they are first used, also of submodules.
  Value* add_self(const IValue& module);
  // Ends the trace; the graph returns this.
  GraphRef end(const IValue& result);

  Graph& graph() const { return *graph_; }
  // What stands for a value now: of a tensor that nobody told of, a constant.
  Value* value_of(const IValue& value);
  void record(const OperatorInfo& op, const Stack& arguments, const Stack& results);

  // A tensor's value left the trace: what follows from it is fixed.
  struct Warning {
    std::string text, file;
    int line;
  };
  void value_read(const Tensor& tensor);
  const std::vector<Warning>& warnings() const { return warnings_; }

 private:
  explicit Tracing(std::string name);
  void know(const Tensor& tensor, Value* value);
  void know_parts(const IValue& value, Value* whole);
  Value* attribute_of(const TensorImpl* impl);

  struct Known {
    Tensor tensor;
    Value* value;
    int64_t when;  // counts up
  };
  // Another description of memory that is known, made by no operator: autograd gives a Node its own
  // result back that way. The one that was told last; null when there is none.
  const Known* same_memory(const Tensor& tensor) const;
  // Where a tensor lies within the module: the object's Value comes from the path.
  struct Place {
    const Object* owner;
    std::string attribute;
    TypeRef type;
  };

  GraphRef graph_;
  std::vector<Warning> warnings_;
  std::unordered_map<const TensorImpl*, Known> values_;
  int64_t told_ = 0;
  std::unordered_map<const TensorImpl*, Place> places_;
  std::unordered_map<const Object*, std::pair<const Object*, std::string>> owners_;
  std::unordered_map<const Object*, Value*> objects_;
};

}  // namespace uh::jit
