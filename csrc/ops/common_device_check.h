// The check of generated CPU and Meta kernels that all tensors are on one device, before a
// hand-written kernel runs.
//
// A meta tensor has no bytes: after this check a kernel may read the device of any one tensor.
// Pointwise operators and composites have separate rules.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "dispatch/operator.h"

namespace uh {

// The tensors of an argument: zero, one, or a list.
class TensorArg {
 public:
  TensorArg(const Tensor& t) : tensors_(&t, 1) {}
  TensorArg(const Operand& o) : TensorArg(o.tensor) {}
  TensorArg(const std::vector<Tensor>& list) : tensors_(list) {}
  std::span<const Tensor> tensors() const { return tensors_; }

 private:
  std::span<const Tensor> tensors_;
};

// Throws if the tensors are on several devices; 0-d tensors other than meta ones are exempt.
void refuse_several_devices(const char* op, std::initializer_list<TensorArg> argument);

template <class... Given>
void check_one_device(KeySet keys, const char* op, const Given&... given) {
  if (!keys.has(Key::kMeta) || ((keys & kBackendKeys) - KeySet(Key::kMeta)).empty()) [[likely]]
    return;
  refuse_several_devices(op, {TensorArg(given)...});
}

}  // namespace uh
