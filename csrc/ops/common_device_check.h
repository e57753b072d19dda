// The check of the generated CPU and Meta kernels before a hand-written kernel runs: one device for
// all.
//
// A meta tensor has no bytes. A kernel that asks one of its tensors where it lies may then rely on
// the others; pointwise operators and composites have separate rules.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "dispatch/operator.h"

namespace uh {

// The tensors of an argument: one, perhaps none, or a list of them.
class TensorArg {
 public:
  TensorArg(const Tensor& t) : tensors_(&t, 1) {}
  TensorArg(const Operand& o) : TensorArg(o.tensor) {}
  TensorArg(const std::vector<Tensor>& list) : tensors_(list) {}
  std::span<const Tensor> tensors() const { return tensors_; }

 private:
  std::span<const Tensor> tensors_;
};

// Throws when the tensors are on several devices. A 0-d CPU tensor, a number, goes with meta ones.
void refuse_several_devices(const char* op, std::initializer_list<TensorArg> argument);

template <class... Given>
void check_one_device(KeySet keys, const char* op, const Given&... given) {
  if (!keys.has(Key::kMeta) || !keys.has(Key::kCPU)) [[likely]]
    return;
  refuse_several_devices(op, {TensorArg(given)...});
}

}  // namespace uh
