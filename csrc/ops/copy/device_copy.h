// Tensors of backends as tensors of the host, and back: for copies and for the fallback.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// A CPU tensor with the sizes, strides and elements of `self`, of which it is a copy.
Tensor copy_to_host(const Tensor& self);
// The reverse: writes the bytes that `self` spans from those of `host`, which has its layout.
void copy_from_host(const Tensor& self, const Tensor& host);

// Copies the elements of one tensor of the host into another, converted and broadcast. The CPU
// backend registers it.
using HostCopy = void (*)(const Tensor& to, const Tensor& from);
void register_host_copy(HostCopy copy);
void copy_on_host(const Tensor& to, const Tensor& from);

}  // namespace uh
