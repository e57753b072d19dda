// The backward pass: runs the Nodes of a graph, each when all its gradients have arrived.
//
// What: counts for every reachable Node how many gradients it will get, then takes the ready Node
// that was made last, runs it, and hands its results on. Runs on the caller's thread; independent
// graphs may be run by any threads at once. Nothing recurses: a chain may be a million long.
// Invariant: a Node runs once per pass, after every Node that hands it a gradient.
#pragma once

#include <mutex>

#include "autograd/node.h"

namespace uh::autograd {

struct RunOptions {
  bool keep_graph = false;    // saved tensors stay, so that the graph can be run again
  bool create_graph = false;  // the gradients are themselves recorded
  bool accumulate = true;     // into .grad of leaves; else `inputs` get theirs returned
  bool allow_unused = true;   // an input may be unreachable
};

// Gradients of `roots` (whose own gradients are `gradients`) with respect to all leaves, or to
// `inputs` alone when there are any. Returns the gradients of `inputs` unless it accumulates.
std::vector<Tensor> run_backward(const std::vector<Tensor>& roots,
                                 const std::vector<Tensor>& gradients,
                                 const std::vector<Tensor>& inputs, RunOptions options);
// The same for places in the graph: PyTorch's GradientEdge.
std::vector<Tensor> run_backward(std::vector<Edge> roots, std::vector<Tensor> gradients,
                                 std::vector<Edge> inputs, RunOptions options);

// The gradient that a root of one element has when none is given; throws for other roots.
Tensor implicit_gradient(const Tensor& root);

// Id of the pass that this thread is in, or 0.
int64_t current_run();

// Whether this thread's pass runs `node` or hands its gradient out; whether it is a backward() to
// all leaves (true outside of a pass).
bool will_run(const Node& node);
bool run_is_plain();

// In anomaly mode: the Node that was running when this thread's last failed pass failed. Forgets
// it.
Ref<Node> failed_node();

// Called when the outermost pass of this thread ends well.
void queue_callback(void (*call)(void*), void* context);

// Keeps threads from adding to one leaf's gradient at the same time.
std::mutex& accumulation_lock(const Tensor& leaf);

}  // namespace uh::autograd
