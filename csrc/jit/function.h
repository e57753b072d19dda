// Function: a named graph that can be called, made by script, trace and load.
//
// The graph as compiled (`graph`), its schema, defaults of its parameters, and the executor
// (executor.h) that optimises, specialises and runs it. A method is a Function whose first input is
// the module. Invariant: the graph is not changed after the first call; optimisation works on
// copies.
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
  static int64_t alive();             // the number of live functions
  const std::string& name() const { return name_; }
  Graph& graph() const { return *graph_; }
  const GraphRef& graph_ref() const { return graph_; }

  // Default values of the last parameters.
  const std::vector<IValue>& defaults() const { return defaults_; }
  void set_defaults(std::vector<IValue> values) { defaults_ = std::move(values); }
  // "forward(self, Tensor x, int n=2) -> Tensor"
  std::string schema_text() const;

  // Completes the last `argument` values of the stack and the keywords to all arguments: positions
  // the keywords, adds defaults, converts numbers and lists to the parameters' types. Throws
  // PyTorch's RuntimeError for a missing, unknown or mistyped argument.
  using Keywords = std::vector<std::pair<std::string, IValue>>;
  void bind(Stack& stack, size_t argument, Keywords keywords = {}) const;

  // Pops the arguments, which must be the whole stack, and pushes the one result.
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
