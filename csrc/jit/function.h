// Function: a graph with a name that can be called; what script, trace and load make.
//
// What: the graph as it was compiled (`graph`), its schema in words, defaults of its parameters,
// and the executor (executor.h) that optimises, specialises and runs it. A method is a Function
// whose first input is the module.
// Invariant: the graph is not changed after the first call; who optimises works on copies.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

class Executor;

class Function final : public RefCounted {
 public:
  Function(std::string name, GraphRef graph);
  ~Function() override;

  int64_t id() const { return id_; }  // of events
  static int64_t alive();             // how many functions there are
  const std::string& name() const { return name_; }
  Graph& graph() const { return *graph_; }
  const GraphRef& graph_ref() const { return graph_; }

  // Values of parameters from the end that need not be given.
  const std::vector<IValue>& defaults() const { return defaults_; }
  void set_defaults(std::vector<IValue> values) { defaults_ = std::move(values); }
  // "forward(self, Tensor x, int n=2) -> Tensor"
  std::string schema_text() const;

  // The `given` arguments at the end of the stack, and keywords, become all of them: keywords go to
  // their places, defaults are added, numbers and lists converted to the types of the parameters.
  // Throws a RuntimeError as PyTorch words it where one is missing, unknown, or of another type.
  using Keywords = std::vector<std::pair<std::string, IValue>>;
  void bind(Stack& stack, size_t argument, Keywords keywords = {}) const;

  // Takes the arguments off the stack, which is nothing but them, and leaves the one result on it.
  void call(Stack& stack);
  Executor& executor();

 private:
  std::string unqualified_name() const;
  std::string parameter_name(size_t i) const;
  void convert(IValue& value, size_t i) const;

  const int64_t id_;
  const std::string name_;
  const GraphRef graph_;
  std::vector<IValue> defaults_;
  std::once_flag prepared_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace uh::jit
