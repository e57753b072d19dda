// Hook: something of the user's that is called when a gradient passes.
#pragma once

#include "base/ids.h"
#include "base/ref.h"
#include "tensor/tensor.h"

namespace uh::autograd {

class Hook : public RefCounted {
 public:
  explicit Hook(int64_t id) : id_(id) {}
  int64_t id() const { return id_; }

  // May replace gradients: those that come in, or (`produced`) those a Node has made of them.
  virtual void call(Tensor* gradients, size_t n, const Tensor* produced_from, size_t n_from) = 0;

  // The tensor that the hook belongs to is going.
  virtual void forget() {}

 private:
  int64_t id_;
};

// The numbers of event HOOK.
enum class HookKind : int64_t { kTensor = 1, kBefore, kAfter, kPostAccumulate, kPack, kUnpack };

void record_hook(HookKind kind, int64_t owner, const Tensor& before, const Tensor& after);

}  // namespace uh::autograd
