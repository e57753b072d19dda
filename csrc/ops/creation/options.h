// The dtype and the device of a new tensor where a call does not say them.
#pragma once

#include "tensor/tensor.h"

namespace uh {

inline DType or_default(DType dtype) {
  return dtype == DType::kUndefined ? default_dtype() : dtype;
}
inline Device or_cpu(Device device) { return device == Device::kUndefined ? Device::kCPU : device; }
// Those of `self`.
inline DType like(DType dtype, const Tensor& self) {
  return dtype == DType::kUndefined ? self.dtype() : dtype;
}
inline Device like(Device device, const Tensor& self) {
  return device == Device::kUndefined ? self.device() : device;
}

}  // namespace uh
