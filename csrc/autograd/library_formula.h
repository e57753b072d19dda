// Gradient formulas of a library's operators: PyTorch's register_autograd.
//
// A Formula is a pair of functions. After the forward pass `setup_context` saves values; `backward`
// gets one gradient per result and returns one per argument of the schema. Both get a
// FormulaContext, PyTorch's ctx, which lives as long as the Node. Invariant: the operator writes
// none of its arguments. If violated: a saved argument is stale in every backward pass;
// register_formula therefore rejects such operators.
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
  // Throws if the tensors were released, or written since.
  virtual std::vector<Tensor> saved_tensors() = 0;
  // Stores any other value that backward needs; value() returns null for an unknown name.
  virtual void set_value(const std::string& name, IValue value) = 0;
  virtual const IValue* value(const std::string& name) const = 0;
  // True if this argument requires a gradient.
  virtual bool needs_input_grad(size_t argument) const = 0;
  // Chooses zeros (the default) or None for results without a gradient.
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
