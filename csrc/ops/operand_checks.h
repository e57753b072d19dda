// Checks at the entry of gradient kernels: formulas call them with arguments that belong together,
// but anybody may call them with others.
#pragma once

#include <initializer_list>
#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Those of `others` that are defined are on `first`'s device and, unless `any_dtype`, have its
// dtype: their memory may be read as that of `first`.
inline void check_together(std::string_view op, const Tensor& first,
                           std::initializer_list<const Tensor*> others, bool any_dtype = false) {
  for (const Tensor* other : others) {
    if (!*other) continue;
    check(other->device() == first.device(), op,
          ": expected all tensors on the same device, found ", name(first.device()), " and ",
          name(other->device()));
    check(any_dtype || other->dtype() == first.dtype(), op, ": expected tensors of dtype ",
          info(first.dtype()).name, ", found ", info(other->dtype()).name);
  }
}

}  // namespace uh
