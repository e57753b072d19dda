// fuse: groups connected pointwise nodes, and sums over them, into prim::FusionGroup nodes.
//
// In a stretch of nodes without writes and side effects, a node joins the groups that
// compute its inputs, if no path leads out of a group and back into it, and the result
// still fits one program. Values used outside become outputs; others are never stored in
// memory.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "jit/group/fusible.h"
#include "jit/group/fusion_group.h"
#include "jit/group/saved_for_backward.h"
#include "jit/ir/alias_analysis.h"
#include "jit/ir/effects.h"
#include "jit/ir/type_predicates.h"
#include "jit/pass.h"

namespace uh::jit {
namespace {

using Nodes = std::vector<Node*>;

// A FusedKernel's limit of steps, less conversions.
constexpr size_t kMaxNodes = 96;

// Collects the outside Values that the node, or a node within it, reads.
void collect_inputs(const Node& node, std::vector<Value*>& all) {
  all.insert(all.end(), node.inputs().begin(), node.inputs().end());
  for (const Block* block : node.blocks()) {
    for (const Node* inner : block->nodes()) collect_inputs(*inner, all);
    all.insert(all.end(), block->returns().begin(), block->returns().end());
  }
}

// True for a constant, or a list of constants, which is copied into the group.
bool goes_along(const Value* value) {
  const Node& node = *value->node();
  if (node.is("prim::Constant")) {
    const IValue* constant = value->constant();
    return !constant || !constant->get_if<Tensor>();
  }
  return node.is("prim::ListConstruct") &&
         std::all_of(node.inputs().begin(), node.inputs().end(), goes_along);
}

// All sizes; null if one is unknown.
const Dims* known_sizes(const Value& value) {
  const auto& sizes = value.type()->facts().sizes;
  return all_known(sizes) ? &*sizes : nullptr;
}

// True if the value is computed from attributes and constants alone: a parameter, smaller than the
// tensors it is applied to. The search depth is limited: such chains are short.
bool from_parameters(const Value* value, int depth = 4) {
  const Node& node = *value->node();
  if (node.is("prim::GetAttr") || node.is("prim::Constant")) return true;
  return node.op() && depth > 0 &&
         std::all_of(node.inputs().begin(), node.inputs().end(),
                     [&](const Value* v) { return from_parameters(v, depth - 1); });
}

// True if both have the same number of elements, as far as is known: a value computed per row would
// be recomputed for every row that it is broadcast to.
bool same_space(const Value& a, const Value& b) {
  const Dims *x = known_sizes(a), *y = known_sizes(b);
  if (x && y) return *x == *y;
  const auto &p = a.type()->facts().sizes, &q = b.type()->facts().sizes;
  return p && q ? p->size() == q->size() : from_parameters(&a) == from_parameters(&b);
}

// Builds a graph of the group's nodes; `inputs` and `outputs` receive its interface.
GraphRef subgraph_of(const Nodes& nodes, std::vector<Value*>& inputs,
                     std::vector<Value*>& outputs) {
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  GraphRef graph = make_ref<Graph>();
  std::unordered_map<const Value*, Value*> map;
  const std::function<Value*(Value*)> find = [&](Value* value) -> Value* {
    if (const auto it = map.find(value); it != map.end()) return it->second;
    if (goes_along(value)) {
      Node* new_node = graph->clone(value->node(), find);
      return map[value] = graph->insert(new_node)->output();
    }
    inputs.push_back(value);
    Value* input = graph->add_input(value->has_name() ? value->name() : "", value->type());
    input->add_origin(value->id());
    return map[value] = input;
  };
  for (Node* node : nodes) {
    // Inputs first, so that the constants among them precede the node.
    for (Value* input : node->inputs()) find(input);
    map[node->output()] = graph->insert(graph->clone(node, find))->output();
  }
  for (Node* node : nodes) {
    const auto& uses = node->output()->uses();
    if (std::all_of(uses.begin(), uses.end(),
                    [&](const Use& use) { return inside.count(use.node) != 0; }))
      continue;
    outputs.push_back(node->output());
    graph->add_output(map.at(node->output()));
  }
  return graph;
}

// Note [Groups and writes]: a group's gradient is computed from its inputs, which must still have
// the values of the forward run. Eager nodes save less (x + 1 saves nothing), so their inputs may
// be written afterwards; therefore a node whose inputs are written later joins no group, unless
// no gradient can be requested. If a node's saved value is written, eager mode fails in the
// backward pass; so does a group, which saves its inputs, except for a result that its own node
// saved.
class LaterWrites {
 public:
  explicit LaterWrites(const Graph& graph) : info_(graph) {
    if (!may_want_gradients(graph)) return;
    graph.each_node([&](Node* node) {
      if (!written_inputs(*node).empty()) writes_.push_back(node);
    });
  }

  bool write_what_it_needs(const Node& node) const {
    return std::any_of(writes_.begin(), writes_.end(), [&](const Node* write) {
      if (!is_done_after(*write, node)) return false;
      return std::any_of(node.inputs().begin(), node.inputs().end(),
                         [&](const Value* v) { return info_.writes_to(write, v); }) ||
             (info_.writes_to(write, node.output()) && saves_result(node));
    });
  }

 private:
  const AliasDb info_;
  std::vector<const Node*> writes_;
};

// The number of leading nodes that fit one program, according to a Builder, which visits every node
// once and compiles nothing.
size_t fitting(const Nodes& nodes) {
  fused::Builder builder;
  std::unordered_map<const Value*, fused::Term> terms;
  size_t tensors = 0, numbers = 0;
  const auto term_of = [&](Value* value) -> std::optional<fused::Term> {
    if (const auto it = terms.find(value); it != terms.end()) return it->second;
    const TypeRef type = assumed(value->type());
    const auto number = number_kind(*type);
    const auto kind = kind_of(*type);
    if ((!number && !kind) || (number ? ++numbers : ++tensors) > kMaxGroupInputs)
      return std::nullopt;
    return terms[value] = number ? builder.number(*number) : builder.input(*kind);
  };
  size_t n = 0;
  for (; n < nodes.size(); ++n) {
    const Node& node = *nodes[n];
    if (const auto reduction_kind = as_reduction(node, *node.input(0)->type())) {
      const auto over = term_of(node.input(0));
      if (!over ||
          !builder.reduce(reduction_kind->op, *over, reduction_kind->dims, reduction_kind->keepdim))
        break;
      continue;
    }
    const auto arguments = step_arguments(node, term_of);
    const auto result = arguments ? builder.step(node.op()->full_name(), *arguments) : std::nullopt;
    if (!result) break;
    terms[node.output()] = *result;
  }
  // The program must store the values that later nodes read.
  std::unordered_set<const Node*> inside(nodes.begin(), nodes.begin() + static_cast<ptrdiff_t>(n));
  const auto outputs = [&] {
    return std::count_if(inside.begin(), inside.end(), [&](const Node* node) {
      const auto& uses = node->output()->uses();
      return std::any_of(uses.begin(), uses.end(),
                         [&](const Use& use) { return inside.count(use.node) == 0; });
    });
  };
  while (n > 0 && outputs() > static_cast<ptrdiff_t>(kMaxGroupOutputs)) inside.erase(nodes[--n]);
  return n;
}

// A stretch of a block's nodes that may be reordered as far as data dependencies allow. A node is
// identified by its index in the stretch.
class Stretch {
 public:
  Stretch(Nodes nodes, const LaterWrites& later) : nodes_(std::move(nodes)), later_(later) {
    const size_t n = nodes_.size();
    fusible_.resize(n);
    reduction_.resize(n);
    for (size_t i = 0; i < n; ++i) {
      position_[nodes_[i]] = i;
      unit_.push_back(i);
      members_.push_back({i});
    }
    reads_.resize(n);
    std::vector<Value*> inputs;
    for (size_t i = 0; i < n; ++i) {
      inputs.clear();
      collect_inputs(*nodes_[i], inputs);
      for (const Value* input : inputs)
        if (const auto it = position_.find(input->node()); it != position_.end())
          reads_[i].push_back(it->second);
    }
  }

  void group() {
    for (size_t i = 0; i < nodes_.size(); ++i) join(i);
  }
  // The groups of at least two nodes, in order. A unit that is too large for one program is split:
  // no path leads from its last nodes back to its first ones.
  std::vector<Nodes> groups() const {
    std::vector<Nodes> all;
    for (const Places& unit : members_) {
      Nodes tail;
      for (const size_t index : unit) tail.push_back(nodes_[index]);
      while (tail.size() > 1) {
        const size_t n = std::max<size_t>(fitting(tail), 1);
        const auto end = tail.begin() + static_cast<ptrdiff_t>(n);
        if (n > 1) all.emplace_back(tail.begin(), end);
        tail.erase(tail.begin(), end);
      }
    }
    return all;
  }

 private:
  using Places = std::vector<size_t>;

  void join(size_t at) {
    const Node& node = *nodes_[at];
    // Unknown properties are assumed: the group checks its inputs, and can run node by node.
    const auto type = [](Value* v) { return assumed(v->type()); };
    const bool reduction = !node.inputs().empty() && node.op() &&
                           as_reduction(node, *node.input(0)->type()).has_value();
    if (!reduction && !as_step(node, type)) return;
    if (later_.write_what_it_needs(node)) return;
    fusible_[at] = true;
    reduction_[at] = reduction;
    if (reduction) {
      // Only as an epilogue: the sum must be the only use of its input.
      if (node.input(0)->uses().size() == 1) try_join(at, *node.input(0));
      return;
    }
    for (const Value* input : node.inputs())
      if (input->type()->is(TypeKind::kTensor)) try_join(at, *input);
  }

  void try_join(size_t at, const Value& input) {
    const auto maker = position_.find(input.node());
    if (maker == position_.end() || !fusible_[maker->second] || reduction_[maker->second]) return;
    const size_t from = unit_[maker->second], to = unit_[at];
    if (from == to || (!reduction_[at] && !same_space(input, *nodes_[at]->output()))) return;
    if (members_[from].size() + members_[to].size() > kMaxNodes) return;
    if (leads_outside_to(from, to) || leads_outside_to(to, from)) return;
    Places both;
    std::merge(members_[from].begin(), members_[from].end(), members_[to].begin(),
               members_[to].end(), std::back_inserter(both));
    if (too_much(both)) return;
    for (const size_t member : members_[to]) unit_[member] = from;
    members_[to].clear();
    members_[from] = std::move(both);
  }

  // True if a path leads from one unit to the other through a third. Paths lead forwards: units
  // before the first node of `from` are skipped.
  bool leads_outside_to(size_t from, size_t to) const {
    std::vector<size_t> tail{to};
    std::vector<bool> seen(nodes_.size());
    seen[to] = true;
    const size_t first = members_[from].front();
    while (!tail.empty()) {
      const size_t unit = tail.back();
      tail.pop_back();
      for (const size_t member : members_[unit]) {
        if (member < first) continue;
        for (const size_t input : reads_[member]) {
          const size_t maker = unit_[input];
          if (maker == from && unit != to) return true;
          if (maker == from || seen[maker]) continue;
          seen[maker] = true;
          tail.push_back(maker);
        }
      }
    }
    return false;
  }

  // True if the unit is surely too large for one program; a cheap test, run at every step.
  bool too_much(const Places& positions) const {
    const auto inside = [&](const Node* node) {
      const auto it = position_.find(node);
      return it != position_.end() &&
             std::binary_search(positions.begin(), positions.end(), it->second);
    };
    std::unordered_set<const Value*> inputs;
    size_t outputs = 0;
    for (const size_t index : positions) {
      const Node& node = *nodes_[index];
      for (const Value* input : node.inputs())
        if (!input->node()->is("prim::Constant") && !inside(input->node())) inputs.insert(input);
      const auto& uses = node.output()->uses();
      outputs +=
          std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return !inside(use.node); });
    }
    return inputs.size() > kMaxGroupInputs || outputs > kMaxGroupOutputs;
  }

  const Nodes nodes_;
  const LaterWrites& later_;
  std::unordered_map<const Node*, size_t> position_;  // index of each node
  std::vector<Places> reads_;                         // the definitions of each node's inputs
  std::vector<size_t> unit_;                          // of each node
  std::vector<Places> members_;  // by unit, in order; empty: merged into another
  std::vector<bool> fusible_, reduction_;
};

void make_group(const Nodes& members) {
  Graph& graph = members[0]->graph();
  Rewrite r(graph, "pointwise nodes -> prim::FusionGroup", {members.begin(), members.end()});
  // In the present order: other groups may have moved some of them.
  const std::unordered_set<const Node*> inside(members.begin(), members.end());
  Nodes nodes, between;
  size_t left = inside.size();
  Node* first = members[0];
  while (true) {  // the first of them in the block
    Node* before = first->prev();
    while (before != first->owner()->param_node() && inside.count(before) == 0)
      before = before->prev();
    if (before == first->owner()->param_node()) break;
    first = before;
  }
  for (Node* node = first; left > 0; node = node->next()) {
    const bool member = inside.count(node) != 0;
    left -= member;
    (member ? nodes : between).push_back(node);
  }
  std::vector<Value*> inputs, outputs;
  const GraphRef subgraph = subgraph_of(nodes, inputs, outputs);
  r.because(message(nodes.size(), " nodes read ", inputs.size(), " and make ", outputs.size(),
                    " of ", nodes.size(), " results"));

  Node* after = nodes.back()->next();
  Node* group = graph.create("prim::FusionGroup", inputs, 0);
  group->set_attribute("Subgraph", Attribute{{}, subgraph, {}, {}});
  group->insert_before(after);
  // Nodes before the group that use its results move after it.
  std::unordered_set<const Node*> later(nodes.begin(), nodes.end());
  for (Node* node : between) {
    std::vector<Value*> reads;
    collect_inputs(*node, reads);
    if (std::none_of(reads.begin(), reads.end(),
                     [&](const Value* v) { return later.count(v->node()) != 0; }))
      continue;
    later.insert(node);
    node->move_before(after);
  }
  for (Value* output : outputs) {
    Value* new_value = group->add_output(output->type());
    new_value->add_origin(output->id());
    output->replace_uses_with(new_value);
  }
  std::vector<std::string> names;
  for (const Value* output : outputs) names.push_back(output->has_name() ? output->name() : "");
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) (*node)->destroy();
  for (size_t i = 0; i < names.size(); ++i)
    if (!names[i].empty()) group->output(i)->set_name(names[i]);
}

void fuse_in(Block& block, const LaterWrites& later) {
  Nodes all = block.nodes(), stretch;
  std::vector<Nodes> groups;
  const auto end = [&] {
    Stretch match(std::move(stretch), later);
    match.group();
    for (Nodes& group : match.groups()) groups.push_back(std::move(group));
    stretch.clear();
  };
  for (Node* node : all) {
    for (Block* inner : node->blocks()) fuse_in(*inner, later);
    if (is_pure(*node))
      stretch.push_back(node);
    else
      end();
  }
  end();
  for (const Nodes& group : groups) make_group(group);
}

void fuse(Graph& graph) { fuse_in(*graph.block(), LaterWrites(graph)); }

}  // namespace

extern const Pass pass_fuse;
const Pass pass_fuse{"fuse", "Makes groups of pointwise operators that run as one.", fuse};

}  // namespace uh::jit
