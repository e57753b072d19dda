// Checks at the entry of gradient kernels: formulas pass consistent arguments, but the operators
// can also be called directly.
#pragma once

#include <initializer_list>
#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Throws unless each defined tensor in `others` is on `first`'s device and, unless `any_dtype`, has
// its dtype, so that a kernel may read its memory as `first`'s.
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
