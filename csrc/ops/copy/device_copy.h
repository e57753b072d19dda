// Copies of device tensors to host tensors and back, for copy_ and the CPU fallback.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// Returns a CPU tensor with the sizes, strides and elements of `self`.
Tensor copy_to_host(const Tensor& self);
// Copies the byte range of `self` from `host`, which has the same layout.
void copy_from_host(const Tensor& self, const Tensor& host);

// Copies elements between host tensors, converted and broadcast. The CPU backend registers it.
using HostCopy = void (*)(const Tensor& to, const Tensor& from);
void register_host_copy(HostCopy copy);
void copy_on_host(const Tensor& to, const Tensor& from);

}  // namespace uh
