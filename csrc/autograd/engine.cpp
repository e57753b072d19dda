#include "autograd/engine.h"

#include <thread>

#include "autograd/autograd_meta.h"
#include "autograd/graph_task.h"
#include "base/call_section.h"
#include "generated/ops/creation.h"

namespace uh::autograd {
namespace {

// More deeply nested backward passes continue on a fresh stack.
constexpr int kMaxDepth = 60;
thread_local int t_depth = 0;

struct Deeper {
  Deeper() { ++t_depth; }
  ~Deeper() { --t_depth; }
};

std::vector<Tensor> run_here(std::vector<Edge>& roots, std::vector<Tensor>& gradients,
                             std::vector<Edge>& inputs, RunOptions options) {
  const Deeper deeper;
  const GradMode mode(options.create_graph);
  GraphTask run(options, !inputs.empty());
  return run.execute(std::move(roots), std::move(gradients), inputs);
}

std::vector<Tensor> run_on_fresh_stack(std::vector<Edge>& roots, std::vector<Tensor>& gradients,
                                       std::vector<Edge>& inputs, RunOptions options) {
  std::vector<Tensor> result;
  std::exception_ptr failure;
  std::thread thread([&, state = t_state] {
    t_state = state;
    const CallSection call;
    calls::use_any();
    try {
      result = run_here(roots, gradients, inputs, options);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  {
    const OutsideCalls while_it_runs;
    thread.join();
  }
  if (failure) std::rethrow_exception(failure);
  return result;
}

void check_gradient(const Tensor& root, const Tensor& gradient, size_t i) {
  check(gradient.sizes() == root.sizes(), "Mismatch in shape: grad_output[", i, "] has a shape of ",
        gradient.sizes(), " and output[", i, "] has a shape of ", root.sizes(), ".");
  check(is_complex(gradient.dtype()) == is_complex(root.dtype()),
        "For complex Tensors, both grad_output and output are required to have the same dtype. "
        "Mismatch in dtype: grad_output[",
        i, "] has a dtype of ", info(gradient.dtype()).name, " and output[", i, "] has a dtype of ",
        info(root.dtype()).name, ".");
}

}  // namespace

Tensor implicit_gradient(const Tensor& root) {
  check(root.numel() == 1, "grad can be implicitly created only for scalar outputs");
  check(!is_complex(root.dtype()),
        "grad can be implicitly created only for real scalar outputs but got ",
        info(root.dtype()).name);
  check(is_floating(root.dtype()), "grad can be implicitly created only for real scalar outputs");
  return ops::ones_like(root, DType::kUndefined, Device::kUndefined, MemoryFormat::kPreserve);
}

std::vector<Tensor> run_backward(const std::vector<Tensor>& roots,
                                 const std::vector<Tensor>& gradients,
                                 const std::vector<Tensor>& inputs, RunOptions options) {
  std::vector<Edge> root_edges, input_edges;
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < roots.size(); ++i) {
    Edge edge = gradient_edge(roots[i]);
    check(static_cast<bool>(edge.node), "element ", i,
          " of tensors does not require grad and does not have a grad_fn");
    const Tensor& gradient = i < gradients.size() ? gradients[i] : Tensor();
    if (gradient) check_gradient(roots[i], gradient, i);
    arguments.push_back(gradient ? gradient : implicit_gradient(roots[i]));
    root_edges.push_back(std::move(edge));
  }
  for (const Tensor& input : inputs) {
    check(requires_grad(input), "One of the differentiated Tensors does not require grad");
    input_edges.push_back(gradient_edge(input));
  }
  return run_backward(std::move(root_edges), std::move(arguments), std::move(input_edges), options);
}

std::vector<Tensor> run_backward(std::vector<Edge> roots, std::vector<Tensor> gradients,
                                 std::vector<Edge> inputs, RunOptions options) {
  fit(roots, gradients);
  if (t_depth >= kMaxDepth) return run_on_fresh_stack(roots, gradients, inputs, options);
  return run_here(roots, gradients, inputs, options);
}

std::mutex& accumulation_lock(const Tensor& leaf) {
  static std::mutex locks[16];
  return locks[static_cast<size_t>(leaf.id()) % 16];
}

}  // namespace uh::autograd
