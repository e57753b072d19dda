// Geometry: sizes, kernel, stride, padding and dilation of a convolution over 1 to 3 dimensions,
// and linear cell indices.
#pragma once

#include <underhood/underhood.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sparse_conv {

constexpr size_t kMaxDims = 3;
using Coordinates = std::array<int64_t, kMaxDims>;

std::string text_of(const std::vector<int64_t>& values);

// Throws a ValueError that starts with the operator's name.
[[noreturn]] void reject(const std::string& problem);

struct Geometry {
  size_t dims = 0;
  int64_t batch_size = 0;
  Coordinates in_sizes{}, out_sizes{}, kernel{}, stride{}, padding{}, dilation{};

  Geometry(int64_t batch_size, const std::vector<int64_t>& spatial_shape,
           const std::vector<int64_t>& kernel_size, const std::vector<int64_t>& stride,
           const std::vector<int64_t>& padding, const std::vector<int64_t>& dilation,
           bool submanifold);

  int64_t kernel_volume() const;
  // Returns the coordinates of a kernel offset; the last dimension varies fastest.
  Coordinates offset(int64_t k) const;
  // Returns the number of cells in all samples; throws if it overflows 64 bits.
  int64_t cells(const Coordinates& sizes) const;
  int64_t cell(int64_t sample, const Coordinates& at, const Coordinates& sizes) const {
    int64_t number = sample;
    for (size_t d = 0; d < dims; ++d) number = number * sizes[d] + at[d];
    return number;
  }
};

}  // namespace sparse_conv
