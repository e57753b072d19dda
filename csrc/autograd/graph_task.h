// GraphTask: one backward pass and its tables. See engine.h.
#pragma once

#include <span>
#include <unordered_map>

#include "autograd/engine.h"

namespace uh::autograd {

// Reverses broadcasting and promotion of the gradients that follow these edges, so that formulas
// need not. They are the results of `node`, or without one those that the caller gave for the
// roots.
void fit(std::span<const Edge> edges, std::span<Tensor> gradients, const Node* node = nullptr);

class GraphTask {
 public:
  GraphTask(RunOptions options, bool to_inputs);
  ~GraphTask();
  GraphTask(const GraphTask&) = delete;
  GraphTask& operator=(const GraphTask&) = delete;

  int64_t id() const { return id_; }
  const GraphTask* outer() const { return outer_; }
  Node* running() const { return running_; }
  bool plain() const { return options_.accumulate && !to_inputs_; }
  bool will_run(const Node& node) const;
  // The same, and true for a Node that is not in the pass's graph.
  bool is_computed(const Node& node) const;

  std::vector<Tensor> execute(std::vector<Edge> roots, std::vector<Tensor> gradients,
                              const std::vector<Edge>& inputs);

 private:
  // The state of a Node in this pass.
  struct Entry {
    Ref<Node> node;
    int32_t missing = 0;  // gradients that have not arrived yet
    bool needed = true;   // a requested gradient depends on it
    bool captured = false;
    Gradients buffer;  // the gradients that have arrived, summed per input
  };
  struct NodeTask {
    uint64_t sequence;
    uint32_t slot;
    bool operator<(const NodeTask& other) const { return sequence < other.sequence; }
  };

  uint32_t slot_of(Node* node);  // creates one if needed
  uint32_t known_slot(const Node* node) const;
  void count_dependencies(const std::vector<Edge>& roots);
  void mark_needed(const std::vector<Edge>& inputs);
  void arrive(uint32_t slot, uint32_t input, Tensor gradient);
  void push(uint32_t slot);
  void run_node(uint32_t slot);
  Gradients call(Node& node, Gradients gradients);
  void before_hooks(Node& node, Gradients& gradients);
  void check_nan(Node& node, const Gradients& results);
  void finish();

  const RunOptions options_;
  const bool to_inputs_;
  const int64_t id_ = next_id(IdSpace::kBackward);
  GraphTask* outer_;
  Node* running_ = nullptr;
  std::vector<Entry> entries_;
  std::vector<uint32_t> order_;  // slots, each after those that its edges lead to
  std::unordered_map<const Node*, uint32_t> others_;  // Nodes whose slot_ belongs to another run
  std::vector<NodeTask> ready_;                       // a heap
  struct Capture {
    uint32_t slot, input;
    size_t output;
  };
  std::vector<Capture> captures_;
  std::vector<Tensor> captured_;
  int64_t nodes_run_ = 0;
  friend void queue_callback(void (*)(void*), void*);
  std::vector<std::pair<void (*)(void*), void*>> callbacks_;
};

}  // namespace uh::autograd
