// FunctionNode: the Node of an autograd.Function, whose backward is user code.
//
// The user's object (PyTorch's ctx) belongs to the host. The core calls it through a table of
// functions and releases it when the Node dies.
#pragma once

#include "autograd/saved_tensor.h"

namespace uh::autograd {

struct FunctionCalls {
  // Writes one gradient per edge to `results`, each a new reference or null.
  Gradients (*apply)(void* context, Gradients gradients, size_t n_results);
  void (*release_saved)(void* context);
  void (*destroy)(void* context);
};

class FunctionNode final : public Node {
 public:
  FunctionNode(std::string name, void* context, FunctionCalls calls)
      : name_(std::move(name)), context_(context), calls_(calls) {}
  ~FunctionNode() override { calls_.destroy(context_); }
  std::string name() const override { return name_; }
  Gradients apply(Gradients gradients) override;
  void each_saved(SavedVisitor& visitor) override { visitor.tensors("saved_tensors", saved_); }
  void release_saved() override;

  void* context() const { return context_; }
  // save_for_backward(); `outputs[i]` is true for a result of this Node.
  void save(const std::vector<Tensor>& tensors, const std::vector<bool>& outputs);
  std::vector<Tensor> unpack() { return unpack_all(*this, saved_, true); }
  bool materialize() const { return materialize_; }
  void set_materialize(bool on) { materialize_ = on; }

 private:
  std::string name_;
  void* context_;
  FunctionCalls calls_;
  std::vector<SavedTensor> saved_;
  bool materialize_ = true;  // pass zeros instead of undefined gradients
};

// Makes a tensor that forward returned an output of the Node. Returns that tensor, or a view of it
// if it is an unchanged input.
Tensor wrap_output(const Ref<Node>& node, const Tensor& output, bool is_input, bool is_dirty,
                   bool is_differentiable);

}  // namespace uh::autograd
