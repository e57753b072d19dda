// Windows that slide over up to three dimensions, with the checks that all poolings share.
//
// Windows holds input size, output size and window parameters for depth, height and width; unused
// dimensions come first and have size 1. Invariant: every window starts inside the input or its
// left padding, so it has an element unless it covers only padding.
#pragma once

#include <array>
#include <string_view>

#include "tensor/tensor.h"

namespace uh {

struct Window {  // along one dimension
  int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
};

struct Windows {
  std::array<Window, 3> axes;
  int64_t planes = 1;  // batch times channels
  Dims sizes;          // of the result

  int64_t in_plane() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out_plane() const { return axes[0].out * axes[1].out * axes[2].out; }
};

struct PoolArguments {
  const Dims &kernel_size, &stride, &padding, &dilation;
  bool ceil_mode;
};

// Checks the arguments of a pooling over the last `dims` dimensions and sizes its result.
Windows make_windows(const Tensor& self, int64_t dims, const PoolArguments& arguments,
                     std::string_view op);

// Returns the windows for checked arguments, from the sizes of input and result.
Windows windows_between(const Dims& in, const Dims& out, int64_t dims, const PoolArguments& a);

// Returns the windows of an adaptive pooling. Their lengths vary, and follow from the sizes.
Windows adaptive_windows_between(const Dims& in, const Dims& out, int64_t dims);

// Returns the dtype for which the loops of a pooling are compiled.
DType pool_dtype(DType dtype);

}  // namespace uh
