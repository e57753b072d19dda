// The backward pass: runs the Nodes of a graph, each when all its gradients have arrived.
//
// Counts the gradients that every reachable Node will receive, then repeats: take the newest ready
// Node, run it, pass its results on. It runs on the caller's thread; several threads may run
// independent graphs at once. It is iterative: a chain may have a million Nodes. Invariant: a Node
// runs once per pass, after every Node that computes a gradient for it.
#pragma once

#include <mutex>

#include "autograd/node.h"

namespace uh::autograd {

struct RunOptions {
  bool keep_graph = false;    // keep saved tensors, so that the graph can be run again
  bool create_graph = false;  // record a graph of the gradients themselves
  bool accumulate = true;     // into .grad of leaves; otherwise return those of `inputs`
  bool allow_unused = true;   // an input may be unreachable
};

// Computes gradients of `roots` (whose own gradients are `gradients`) with respect to `inputs`, or
// to all leaves if `inputs` is empty. Returns the gradients of `inputs` unless it accumulates.
std::vector<Tensor> run_backward(const std::vector<Tensor>& roots,
                                 const std::vector<Tensor>& gradients,
                                 const std::vector<Tensor>& inputs, RunOptions options);
// The same for edges of the graph, PyTorch's GradientEdge.
std::vector<Tensor> run_backward(std::vector<Edge> roots, std::vector<Tensor> gradients,
                                 std::vector<Edge> inputs, RunOptions options);

// The default gradient of a root of one element; throws for other roots.
Tensor implicit_gradient(const Tensor& root);

// Id of the pass that this thread is running, or 0.
int64_t current_run();

// True if this thread's pass runs `node` or returns its gradient.
bool will_run(const Node& node);
// True outside of a pass, and if this thread's pass is a backward() to all leaves.
bool run_is_plain();

// In anomaly mode: returns and clears the Node at which this thread's last failed pass failed.
Ref<Node> failed_node();

// Queues a call for the successful end of this thread's outermost pass.
void queue_callback(void (*call)(void*), void* context);

// A lock that prevents threads from adding to one leaf's gradient at the same time.
std::mutex& accumulation_lock(const Tensor& leaf);

}  // namespace uh::autograd
