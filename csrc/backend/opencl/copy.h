// The operators of copy.yaml on an OpenCL device.
#pragma once

#include "dispatch/operator.h"

namespace uh::opencl {

void copy(KeySet, const Tensor& self, const Tensor& src, bool non_blocking);
Tensor clone(KeySet, const Tensor& self, MemoryFormat format);
Tensor to_copy(KeySet, const Tensor& self, DType dtype, Device device, MemoryFormat format);
void fill(KeySet, const Tensor& self, const Scalar& value);
void fill_from(KeySet, const Tensor& self, const Tensor& value);
void zero(KeySet, const Tensor& self);

// The tensor itself if it is row-major and has this dtype, else such a copy.
Tensor contiguous(const Tensor& t, DType dtype = DType::kUndefined);

// OpenCL C: the definition of `O apply(A0 x)`, which converts an element. O and A0 are the types
// that the dtypes are computed in.
const char* conversion(DType to, DType from);

// Copies the elements of `from`, converted and broadcast, to `to` on the same device by a kernel.
void copy_elements(const Tensor& to, const Tensor& from);

}  // namespace uh::opencl
