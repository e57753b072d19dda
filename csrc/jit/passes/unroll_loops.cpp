// unroll_loops: unrolls a short loop of constant trip count completely; a longer one partially, if
// its counter is unused.
//
// prim::Loop takes (max trip count, initial condition, carried...) and its block (counter,
// carried...) returns (condition, carried...). Trip counts are known only for loops whose
// conditions are constant: a loop with an early exit stays.
#include <algorithm>
#include <unordered_map>

#include "jit/ir/constants.h"
#include "jit/pass.h"

namespace uh::jit {
namespace {

// A copied node costs memory and time in every later pass, an iteration in the interpreter some 20
// ns.
constexpr int64_t kMaxUnrolledNodes = 256;              // of all copies together
constexpr int64_t kMaxUnrolledIterations = 64;          // of a loop that is removed
constexpr int64_t kMaxPartialNodes = 64;        // of the body of a loop that stays

int64_t count_nodes(const Block& block) {
  int64_t n = 0;
  for (const Node* node : block.nodes()) {
    if (!node->is("prim::Constant")) ++n;
    for (const Block* inner : node->blocks()) n += count_nodes(*inner);
  }
  return n;
}

// The trip count; -1 if it is unknown.
int64_t rounds_of(const Node& loop) {
  const std::optional<bool> begins = constant_bool(loop.input(1));
  if (begins == false) return 0;
  const std::optional<int64_t> n = constant_int(loop.input(0));
  if (!n) return -1;
  if (*n <= 0) return 0;
  const std::optional<bool> goes_on = constant_bool(loop.block(0)->returns()[0]);
  if (!begins || !goes_on) return -1;
  return *goes_on ? *n : 1;
}

// Copies `nodes` of the body before the insertion point: `values` are counter and carried values,
// and receive those after the iteration.
void copy_iteration(Graph& graph, const Block& body, const std::vector<Node*>& nodes,
                    std::vector<Value*>& values) {
  std::unordered_map<const Value*, Value*> map;
  for (size_t i = 0; i < values.size(); ++i) map[body.params()[i]] = values[i];
  const Graph::ValueMap find = [&](Value* v) {
    const auto it = map.find(v);
    return it == map.end() ? v : it->second;
  };
  for (const Node* node : nodes) {
    Node* new_node = graph.insert(graph.clone(node, find));
    for (size_t i = 0; i < node->outputs().size(); ++i) map[node->output(i)] = new_node->output(i);
  }
  for (size_t i = 1; i < values.size(); ++i) values[i] = find(body.returns()[i]);
}

void unroll_whole(Node* loop, int64_t rounds) {
  Graph& graph = loop->graph();
  Rewrite r(graph, "a loop of n rounds -> n times its body", {loop});
  r.because(message("it runs ", rounds, rounds == 1 ? " time" : " times"));
  graph.set_insert_point(loop);
  const Block& body = *loop->block(0);
  const std::vector<Node*> nodes = body.nodes();
  std::vector<Value*> values{nullptr};
  values.insert(values.end(), loop->inputs().begin() + 2, loop->inputs().end());
  for (int64_t i = 0; i < rounds; ++i) {
    Value* counter = body.params()[0];
    values[0] = counter;
    if (counter->has_uses()) {
      values[0] = graph.insert_constant(i);
      values[0]->add_origin(counter->id());
    }
    copy_iteration(graph, body, nodes, values);
  }
  for (size_t i = 0; i < loop->outputs().size(); ++i) {
    values[i + 1]->add_origin(loop->output(i)->id());
    loop->output(i)->replace_uses_with(values[i + 1]);
  }
  graph.set_insert_point(graph.block());
  loop->destroy();
}

// The maximum number of old iterations per new one: a divisor, so that there is no remainder, and
// the greatest, so that running the pass again changes nothing.
int64_t rounds_together(int64_t rounds, int64_t size) {
  int64_t factor = 1;
  for (int64_t k = 2; k * size <= kMaxPartialNodes; ++k)
    if (rounds % k == 0) factor = k;
  return factor;
}

void unroll_partly(Node* loop, int64_t rounds, int64_t together) {
  Graph& graph = loop->graph();
  Rewrite r(graph, "a loop of n rounds -> a loop of n / k rounds of k bodies", {loop});
  r.because(message(rounds, " rounds, ", together, " of them at once; nothing reads the counter"));
  graph.set_insert_point(loop);
  const IValue left = rounds / together;
  loop->set_input(0, graph.insert_constant(left));
  // Further iterations are copies of the first one's nodes, and read its results.
  Block& body = *loop->block(0);
  const std::vector<Node*> first = body.nodes();
  std::vector<Value*> values = body.returns();
  values[0] = body.params()[0];
  graph.set_insert_point(&body);
  for (int64_t i = 1; i < together; ++i) copy_iteration(graph, body, first, values);
  for (size_t k = 1; k < values.size(); ++k) body.set_return(k, values[k]);
  graph.set_insert_point(graph.block());
}

bool unroll_in(Block& block) {
  bool changed = false;
  for (Node* node : block.nodes()) {
    for (Block* inner : node->blocks()) changed |= unroll_in(*inner);
    if (!node->is("prim::Loop")) continue;
    const int64_t rounds = rounds_of(*node);
    if (rounds < 0) continue;
    const int64_t size = std::max<int64_t>(1, count_nodes(*node->block(0)));
    if (rounds <= 1 || (rounds <= kMaxUnrolledIterations && rounds * size <= kMaxUnrolledNodes)) {
      unroll_whole(node, rounds);
      changed = true;
    } else if (!node->block(0)->params()[0]->has_uses()) {
      const int64_t together = rounds_together(rounds, size);
      if (together == 1) continue;
      unroll_partly(node, rounds, together);
      changed = true;
    }
  }
  return changed;
}

// Repeats: the trip count of an inner loop over the outer counter becomes constant when the outer
// loop is unrolled.
void unroll_loops(Graph& graph) {
  while (unroll_in(*graph.block())) {
  }
}

}  // namespace

extern const Pass pass_unroll_loops;
const Pass pass_unroll_loops{
    "unroll_loops", "Replaces loops of few rounds, known in number, by copies of their bodies.",
    unroll_loops};

}  // namespace uh::jit
