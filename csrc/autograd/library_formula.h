// Gradient formulas of operators that a library defines: PyTorch's register_autograd.
//
// What: a Formula is a pair of functions. After the forward pass `setup_context` chooses what to
// save; `backward` gets one gradient per result and returns one per argument of the schema. Both
// see a FormulaContext, PyTorch's ctx, which lives as long as the Node.
// Invariant: the operator writes none of its arguments. If violated: a saved argument is stale in
// every backward pass; register_formula therefore refuses such operators.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dispatch/library.h"

namespace uh::autograd {

class FormulaContext {
 public:
  virtual ~FormulaContext() = default;
  virtual void save_for_backward(const std::vector<Tensor>& tensors) = 0;
  // Throws where they were released, or written since.
  virtual std::vector<Tensor> saved_tensors() = 0;
  // Anything else that backward needs; null if there is no value of that name.
  virtual void set_value(const std::string& name, IValue value) = 0;
  virtual const IValue* value(const std::string& name) const = 0;
  // True if a gradient of this argument is requested.
  virtual bool needs_input_grad(size_t argument) const = 0;
  // Zeros for results that no gradient arrives at (the default), or None.
  virtual void set_materialize_grads(bool on) = 0;
};

struct Formula {
  std::function<void(FormulaContext&, const Stack& arguments, const Stack& results)> setup_context;
  std::function<Stack(FormulaContext&, Stack gradients)> backward;
};

// Registers the formula as the kernel of `name` for Autograd.
void register_formula(Library& library, std::string_view name, Formula formula,
                      std::string_view kernel_name);

}  // namespace uh::autograd
