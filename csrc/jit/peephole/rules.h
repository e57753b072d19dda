// Rules of the peephole pass: each matches a Node and its operands' nodes, and finds a Value that
// may replace its output.
//
// A rule is a function that returns true if it applied; families of rules are in the files
// next to this one, each with its table. A rule changes the graph only through Peephole's
// `same`, `constant` and `instead`, which check aliases, open the Rewrite with the rule's
// text and source location, and remove unused nodes. Invariant: a rule is exact: same
// bits, same shape and layout, and the same errors. Floats are not reals: x * 0 is not 0,
// and x + 0 is not x (-0.0 + 0 is 0.0). If violated: compiling a program changes its
// results.
#pragma once

#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "jit/ir/alias_analysis.h"
#include "jit/ir/constants.h"
#include "jit/ir/graph.h"

namespace uh::jit {

class Peephole {
 public:
  using Location = std::source_location;

  explicit Peephole(Graph& graph) : graph_(graph), alias_(graph) {}

  Graph& graph() const { return graph_; }
  const AliasDb& alias() const { return alias_; }

  // Replaces the node's output by `with`, an existing Value; `concerned`: the other nodes that the
  // rule matched. Returns false, and changes nothing, if a write could distinguish the two.
  // same_object does not check that: the operator itself returns its argument.
  bool same(Node* node, Value* with, const char* rule, std::vector<Node*> concerned = {},
            std::string because = "", Location location = Location::current());
  bool same_object(Node* node, Value* with, const char* rule, std::vector<Node*> concerned = {},
                   std::string because = "", Location location = Location::current());
  // The same for a node with several outputs.
  bool same_parts(Node* node, const std::vector<Value*>& with, const char* rule,
                  std::vector<Node*> concerned, std::string because = "",
                  Location location = Location::current());
  // Replaces the node by a constant: a list only if it is never written and does not escape; never
  // a tensor.
  bool constant(Node* node, IValue value, const char* rule, std::vector<Node*> concerned = {},
                std::string because = "", Location location = Location::current());
  // Replaces the node by the nodes that `make` inserts before it. The rule must check that their
  // inputs are not written in between.
  using Make = std::function<Value*(Graph& graph)>;
  bool instead(Node* node, const char* rule, std::vector<Node*> concerned, const Make& make,
               std::string because = "", Location location = Location::current());
  // Replaces input i by `value`, past the `concerned` nodes in between, which are views of the same
  // memory (for others, the rule must check that neither is written).
  bool reach_through(Node* node, size_t i, Value* value, const char* rule,
                     std::vector<Node*> concerned, std::string because = "",
                     Location location = Location::current());

  // The items of a list that the graph constructs and never writes.
  const std::vector<Value*>* items(const Value* list) const;
  // constant_ints() of a list that is never written.
  std::optional<std::vector<int64_t>> ints(const Value* value) const;

 private:
  bool may_be_recorded_otherwise(const Node* node) const;
  void clean(Node* node, const std::vector<Node*>& concerned);

  Graph& graph_;
  AliasDb alias_;
};

struct PeepholeRule {
  std::vector<const char*> kinds;  // "aten::t"
  bool (*apply)(Peephole& peephole, Node* node);
};
using PeepholeRules = std::vector<PeepholeRule>;

const PeepholeRules& view_rules();
const PeepholeRules& cast_rules();
const PeepholeRules& tensor_arithmetic_rules();
const PeepholeRules& number_rules();
const PeepholeRules& container_rules();
const PeepholeRules& fact_rules();

// The known properties of a tensor; null if the Value is not a tensor.
const TensorProperties* facts_of(const Value* value);
std::optional<int64_t> known_rank(const Value* value);
// All sizes, or nullopt if one is unknown.
std::optional<std::vector<int64_t>> known_sizes(const Value* value);
DType known_dtype(const Value* value);
// True if the elements are dense, in any order of dimensions: a pointwise operator's result then
// has the same layout.
bool is_dense(const Value* value);
// True if the tensor is known to be row-major.
bool is_row_major(const Value* value);

}  // namespace uh::jit
