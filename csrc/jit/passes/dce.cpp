// Dead code elimination: removes nodes and values that have no use and no visible effect.
//
// A node is live if it has a side effect (prints, raises, draws random numbers), writes memory that
// is read, or defines a Value that a live node uses. Liveness of an If's outputs and a Loop's
// carried values is tracked individually, apart from the node itself.
#include <unordered_set>

#include "jit/ir/alias_analysis.h"
#include "jit/ir/effects.h"
#include "jit/pass.h"

namespace uh::jit {
namespace {

class Liveness {
 public:
  explicit Liveness(const Graph& graph) : alias_(graph) {
    for (const Value* output : graph.outputs()) need(output);
    graph.each_node([&](const Node* node) {
      if (!node->blocks().empty()) return;  // as live as the nodes within
      if (node->has_side_effects()) {
        need(node);
      } else if (!alias_.access(*node).written.empty()) {
        writers_.push_back(node);
      }
    });
    do {
      settle();
    } while (wake_writers());
  }

  bool lives(const Node* node) const { return nodes_.count(node) != 0; }
  bool lives(const Value* value) const { return values_.count(value) != 0; }

 private:
  void need(const Value* value) {
    if (values_.insert(value).second) new_values_.push_back(value);
  }

  void need(const Node* node) {
    if (!nodes_.insert(node).second) return;
    for (const AliasDb::Location location : alias_.access(*node).read) read_.insert(location);
    if (node->is("prim::If")) {
      need(node->input(0));
    } else if (node->is("prim::Loop")) {
      need(node->input(0));
      need(node->input(1));
      need(node->block(0)->returns()[0]);
    } else {
      for (const Value* input : node->inputs()) need(input);
    }
    if (Node* around = node->owner()->owner()) need(around);
  }

  // Marks the nodes of live values, and thereby their inputs, as live.
  void settle() {
    while (!new_values_.empty()) {
      const Value* value = new_values_.back();
      new_values_.pop_back();
      const Node* node = value->node();
      const size_t i = value->offset();
      if (value->is_param()) {
        const Node* loop = value->block()->owner();
        if (!loop) continue;
        need(loop);
        if (i > 0) need_carried(loop, i - 1);
        continue;
      }
      need(node);
      if (node->is("prim::If")) {
        for (const Block* block : node->blocks()) need(block->returns()[i]);
      } else if (node->is("prim::Loop")) {
        need_carried(node, i);
      }
    }
  }

  void need_carried(const Node* loop, size_t i) {
    need(loop->input(i + 2));
    need(loop->block(0)->returns()[i + 1]);
  }

  // A write is live if its memory escapes or is read by a live node.
  bool wake_writers() {
    bool any = false;
    for (const Node*& writer : writers_) {
      if (!writer) continue;
      const AliasDb::Locations& written = alias_.access(*writer).written;
      bool seen = lives(writer) || alias_.escape(written);
      for (const AliasDb::Location location : written) seen = seen || read_.count(location) != 0;
      if (!seen) continue;
      need(writer);
      writer = nullptr;
      any = true;
    }
    return any;
  }

  AliasDb alias_;
  std::unordered_set<const Node*> nodes_;
  std::unordered_set<const Value*> values_;
  std::unordered_set<AliasDb::Location> read_;
  std::vector<const Value*> new_values_;
  std::vector<const Node*> writers_;
};

class Sweep {
 public:
  explicit Sweep(Graph& graph) : graph_(graph), live_(graph) {}

  // Backwards: the users of a dead value are dead too, and already removed.
  void block(Block* block) {
    for (Node* node = block->last(); node != block->param_node();) {
      Node* before = node->prev();
      if (!live_.lives(node)) {
        remove(node);
      } else if (node->is("prim::If")) {
        trim_if(node);
      } else if (node->is("prim::Loop")) {
        trim_loop(node);
      }
      node = before;
    }
  }

 private:
  void remove(Node* node) {
    Rewrite r(graph_, "an unused node", {node});
    r.because(is_pure(*node) ? "none of its outputs is used, and it has no side effects"
                             : "nothing reads what it writes afterwards");
    node->destroy();
  }

  void trim_if(Node* node) {
    for (size_t i = node->outputs().size(); i-- > 0;) {
      if (live_.lives(node->output(i))) continue;
      Rewrite r(graph_, "an unused output of an If", {node});
      node->drop_output(i);
      for (Block* inner : node->blocks()) inner->drop_return(i);
    }
    for (Block* inner : node->blocks()) block(inner);
  }

  void trim_loop(Node* node) {
    Block* body = node->block(0);
    std::vector<size_t> dead;
    for (size_t i = node->outputs().size(); i-- > 0;) {
      if (live_.lives(node->output(i)) || live_.lives(body->params()[i + 1])) continue;
      dead.push_back(i);
      if (body->returns()[i + 1] == body->params()[i + 1]) continue;
      // First make the body return it unchanged, so that its computation there becomes unused.
      Rewrite r(graph_, "an unused carried value stays as it is", {node});
      body->set_return(i + 1, body->params()[i + 1]);
    }
    block(body);
    for (const size_t i : dead) {
      Rewrite r(graph_, "an unused carried value", {node});
      node->drop_output(i);
      body->drop_return(i + 1);
      body->drop_param(i + 1);
      node->drop_input(i + 2);
    }
  }

  Graph& graph_;
  const Liveness live_;
};

void dce(Graph& graph) { Sweep(graph).block(graph.block()); }

}  // namespace

extern const Pass pass_dce;
const Pass pass_dce{"dce", "Removes nodes and carried values without a use or a visible effect.",
                    dce};

}  // namespace uh::jit
