// fuse: pointwise nodes that feed each other, and the sums over them, become a prim::FusionGroup.
//
// Within a stretch of nodes that neither write nor do anything that is seen, a node joins the
// groups that make its inputs, as long as no way leads from a group out and back into it, and the
// whole can still be one program. What is used outside becomes an output, what is not never reaches
// memory.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "jit/alias.h"
#include "jit/fusible.h"
#include "jit/fusion_group.h"
#include "jit/pass.h"

namespace uh::jit {
namespace {

using Nodes = std::vector<Node*>;

// Within what a FusedProgram holds: steps (with conversions), tensors that it reads and makes.
constexpr size_t kMostNodes = 96, kMostInputs = 24, kMostOutputs = 12;

// Values from outside of the node that it or a node within reads.
void collect_inputs(const Node& node, std::vector<Value*>& all) {
  all.insert(all.end(), node.inputs().begin(), node.inputs().end());
  for (const Block* block : node.blocks()) {
    for (const Node* inner : block->nodes()) collect_inputs(*inner, all);
    all.insert(all.end(), block->returns().begin(), block->returns().end());
  }
}

// A constant, or a list of constants: it goes along into the group.
bool goes_along(const Value* value) {
  const Node& node = *value->node();
  if (node.is("prim::Constant")) {
    const IValue* constant = value->constant();
    return !constant || !constant->get_if<Tensor>();
  }
  return node.is("prim::ListConstruct") &&
         std::all_of(node.inputs().begin(), node.inputs().end(), goes_along);
}

// All sizes, where they are known.
const Dims* known_sizes(const Value& value) {
  const auto& sizes = value.type()->facts().sizes;
  const bool known =
      sizes && std::none_of(sizes->begin(), sizes->end(), [](auto n) { return n < 0; });
  return known ? &*sizes : nullptr;
}

// Whether it is made of attributes and constants alone: a parameter, smaller than what it is for.
// Not asked far back: such chains are short.
bool from_parameters(const Value* value, int depth = 4) {
  const Node& node = *value->node();
  if (node.is("prim::GetAttr") || node.is("prim::Constant")) return true;
  return node.op() && depth > 0 &&
         std::all_of(node.inputs().begin(), node.inputs().end(),
                     [&](const Value* v) { return from_parameters(v, depth - 1); });
}

// Whether the elements of one are as many as those of the other, as far as is known: what is made
// for a row would be made again for every row that it is broadcast to.
bool same_space(const Value& a, const Value& b) {
  const Dims *x = known_sizes(a), *y = known_sizes(b);
  if (x && y) return *x == *y;
  const auto &p = a.type()->facts().sizes, &q = b.type()->facts().sizes;
  return p && q ? p->size() == q->size() : from_parameters(&a) == from_parameters(&b);
}

// A graph of the group's nodes; `inputs` and `outputs` are what it reads and makes outside.
GraphRef subgraph_of(const Nodes& nodes, std::vector<Value*>& inputs,
                     std::vector<Value*>& outputs) {
  const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
  GraphRef graph = make_ref<Graph>();
  std::unordered_map<const Value*, Value*> map;
  const std::function<Value*(Value*)> find = [&](Value* value) -> Value* {
    if (const auto it = map.find(value); it != map.end()) return it->second;
    if (goes_along(value)) {
      Node* made = graph->clone(value->node(), find);
      return map[value] = graph->insert(made)->output();
    }
    inputs.push_back(value);
    Value* input = graph->add_input(value->has_name() ? value->name() : "", value->type());
    input->add_origin(value->id());
    return map[value] = input;
  };
  for (Node* node : nodes) {
    // Inputs first, so that the constants among them stand before the node.
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

// Note [Groups and writes]: the gradient of a group is computed from its inputs, so they must be
// then what they were when it ran. What is computed eagerly saves less (x + 1 nothing at all), and
// may write its inputs afterwards; a node that reads what is written later joins no group
// therefore, unless no gradient can be asked for.
class LaterWrites {
 public:
  explicit LaterWrites(const Graph& graph) : info_(graph) {
    bool gradients = false;
    for (const Value* input : graph.inputs()) gradients = gradients || may_require(*input->type());
    graph.each_node([&](Node* node) {
      if (!written_inputs(*node).empty()) writes_.push_back(node);
      // An attribute may be a parameter; a constant says itself.
      if (node->is("prim::GetAttr") || node->is("aten::requires_grad_")) gradients = true;
      if (node->is_constant()) gradients = gradients || may_require(*node->output()->type());
    });
    if (!gradients) writes_.clear();
  }

  bool write_what_it_reads(const Node& node) const {
    return std::any_of(writes_.begin(), writes_.end(), [&](const Node* write) {
      if (write->is_before(&node) && !in_one_loop(*write, node)) return false;
      return std::any_of(node.inputs().begin(), node.inputs().end(),
                         [&](const Value* v) { return info_.writes_to(write, v); });
    });
  }

 private:
  static bool may_require(const Type& type) {
    return type.is(TypeKind::kTensor) ? type.facts().requires_grad != false : holds_memory(type);
  }
  static bool in_one_loop(const Node& a, const Node& b) {
    for (const Node* at = &a; at; at = at->owner() ? at->owner()->owner() : nullptr) {
      if (!at->is("prim::Loop")) continue;
      for (const Node* other = &b; other;
           other = other->owner() ? other->owner()->owner() : nullptr)
        if (other == at) return true;
    }
    return false;
  }

  const AliasInfo info_;
  std::vector<const Node*> writes_;
};

// One stretch of nodes of a block, all of which may change places as far as their inputs allow.
class Stretch {
 public:
  Stretch(Nodes nodes, const LaterWrites& later) : nodes_(std::move(nodes)), later_(later) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      unit_[nodes_[i]] = place_[nodes_[i]] = i;
      members_.push_back({nodes_[i]});
    }
  }

  void group() {
    for (size_t i = 0; i < nodes_.size(); ++i) join(i);
  }
  // The groups of two nodes and more, in order.
  std::vector<Nodes> groups() const {
    std::vector<Nodes> all;
    for (Nodes unit : members_) {
      // Nothing in the group reads what its last node makes: it can do without that.
      while (unit.size() > 1 && !is_program(unit)) unit.pop_back();
      if (unit.size() > 1) all.push_back(std::move(unit));
    }
    return all;
  }

 private:
  void join(size_t at) {
    const Node& node = *nodes_[at];
    // What is not known is assumed: the group looks at its inputs, and can run node by node.
    const auto type = [](Value* v) { return assumed(v->type()); };
    const bool reduction = !node.inputs().empty() && node.op() &&
                           as_reduction(node, *node.input(0)->type()).has_value();
    if (!reduction && !as_step(node, type)) return;
    if (later_.write_what_it_reads(node)) return;
    fusible_.insert(&node);
    if (reduction) {
      reductions_.insert(&node);
      // Only as an epilogue: what it sums is made for it alone.
      if (node.input(0)->uses().size() == 1) try_join(node, *node.input(0));
      return;
    }
    for (const Value* input : node.inputs())
      if (input->type()->is(TypeKind::kTensor)) try_join(node, *input);
  }

  void try_join(const Node& node, const Value& input) {
    const auto maker = unit_.find(input.node());
    if (maker == unit_.end() || fusible_.count(input.node()) == 0) return;
    if (reductions_.count(input.node()) != 0) return;
    const size_t from = maker->second, to = unit_.at(&node);
    if (from == to || (reductions_.count(&node) == 0 && !same_space(input, *node.output()))) return;
    if (leads_outside_to(from, to) || leads_outside_to(to, from)) return;
    Nodes both = members_[from];
    both.insert(both.end(), members_[to].begin(), members_[to].end());
    std::sort(both.begin(), both.end(),
              [&](Node* a, Node* b) { return place_.at(a) < place_.at(b); });
    if (too_much(both)) return;
    for (Node* member : members_[to]) unit_[member] = from;
    members_[to].clear();
    members_[from] = std::move(both);
  }

  // Whether a way leads from one unit to the other through a third.
  bool leads_outside_to(size_t from, size_t to) const {
    std::vector<size_t> rest{to};
    std::unordered_set<size_t> seen{to};
    while (!rest.empty()) {
      const size_t unit = rest.back();
      rest.pop_back();
      for (const Node* member : members_[unit]) {
        std::vector<Value*> inputs;
        collect_inputs(*member, inputs);
        for (const Value* input : inputs) {
          const auto it = unit_.find(input->node());
          if (it == unit_.end()) continue;
          if (it->second == from && unit != to) return true;
          if (it->second != from && seen.insert(it->second).second) rest.push_back(it->second);
        }
      }
    }
    return false;
  }

  // Whether it is surely too much for one program: asked at every step, and so in few words.
  static bool too_much(const Nodes& nodes) {
    if (nodes.size() > kMostNodes) return true;
    const std::unordered_set<const Node*> inside(nodes.begin(), nodes.end());
    std::unordered_set<const Value*> inputs;
    size_t outputs = 0;
    for (const Node* node : nodes) {
      for (const Value* input : node->inputs())
        if (inside.count(input->node()) == 0 && !input->node()->is("prim::Constant"))
          inputs.insert(input);
      const auto& uses = node->output()->uses();
      outputs += std::any_of(uses.begin(), uses.end(),
                             [&](const Use& use) { return inside.count(use.node) == 0; });
    }
    return inputs.size() > kMostInputs || outputs > kMostOutputs;
  }

  static bool is_program(const Nodes& nodes) {
    std::vector<Value*> inputs, outputs;
    const GraphRef graph = subgraph_of(nodes, inputs, outputs);
    const auto kinds = promised_kinds(*graph);
    return kinds && compile_group(*graph, *kinds);
  }

  const Nodes nodes_;
  const LaterWrites& later_;
  std::unordered_map<const Node*, size_t> place_;  // among the nodes: they do not move meanwhile
  std::unordered_map<const Node*, size_t> unit_;
  std::vector<Nodes> members_;  // by unit; empty: it went into another
  std::unordered_set<const Node*> fusible_, reductions_;
};

void make_group(const Nodes& members) {
  Graph& graph = members[0]->graph();
  Rewrite r(graph, "pointwise nodes -> prim::FusionGroup", {members.begin(), members.end()});
  // In the order in which they stand now: other groups may have moved some of them.
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
  // What reads a result of the group and stands before it comes after it.
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
    Value* made = group->add_output(output->type());
    made->add_origin(output->id());
    output->replace_uses_with(made);
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
    Stretch found(std::move(stretch), later);
    found.group();
    for (Nodes& group : found.groups()) groups.push_back(std::move(group));
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

void run(Graph& graph) { fuse_in(*graph.block(), LaterWrites(graph)); }

}  // namespace

extern const Pass pass_fuse;
const Pass pass_fuse{"fuse", "Makes groups of pointwise operators that run as one.", run};

}  // namespace uh::jit
