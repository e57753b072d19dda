#include "geometry.h"

namespace sparse_conv {

std::string text_of(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

void reject(const std::string& problem) {
  throw uh::Error(UH_ERROR_VALUE, "sparse_conv: " + problem);
}

namespace {

Coordinates read(const char* name, const std::vector<int64_t>& values, size_t dims,
                 int64_t min_value) {
  if (values.size() != dims)
    reject(std::string(name) + " needs a number per dimension (" + std::to_string(dims) +
           "), got " + text_of(values));
  Coordinates result{};
  for (size_t d = 0; d < dims; ++d) {
    if (values[d] < min_value)
      reject(std::string(name) + " must be at least " + std::to_string(min_value) + ", got " +
             text_of(values));
    if (values[d] > INT32_MAX)
      reject(std::string(name) + " must be less than 2^31, got " + text_of(values));
    result[d] = values[d];
  }
  return result;
}

}  // namespace

Geometry::Geometry(int64_t batch, const std::vector<int64_t>& spatial_shape,
                   const std::vector<int64_t>& kernel_size, const std::vector<int64_t>& strides,
                   const std::vector<int64_t>& paddings, const std::vector<int64_t>& dilations,
                   bool submanifold)
    : dims(spatial_shape.size()), batch_size(batch) {
  if (dims < 1 || dims > kMaxDims)
    reject("spatial_shape must have 1 to 3 dimensions, got " + text_of(spatial_shape));
  if (batch < 1) reject("batch_size must be at least 1, got " + std::to_string(batch));
  in_sizes = read("spatial_shape", spatial_shape, dims, 1);
  kernel = read("kernel_size", kernel_size, dims, 1);
  stride = read("stride", strides, dims, 1);
  padding = read("padding", paddings, dims, 0);
  dilation = read("dilation", dilations, dims, 1);
  if (kernel_volume() > 1 << 20) reject("kernel_size is too large: " + text_of(kernel_size));
  for (size_t d = 0; d < dims; ++d) {
    if (submanifold) {
      if (kernel[d] % 2 == 0)
        reject("a submanifold convolution needs odd kernel sizes, which have a centre, got " +
               text_of(kernel_size));
      if (stride[d] != 1) reject("a submanifold convolution has stride 1, got " + text_of(strides));
      padding[d] = kernel[d] / 2 * dilation[d];
    }
    const int64_t extent = dilation[d] * (kernel[d] - 1) + 1;
    const int64_t room = in_sizes[d] + 2 * padding[d] - extent;
    if (room < 0)
      reject("the kernel is larger than the padded input: " + std::to_string(extent) + " > " +
             std::to_string(in_sizes[d] + 2 * padding[d]) + " in dimension " + std::to_string(d) +
             "; spatial_shape " + text_of(spatial_shape) + ", kernel_size " + text_of(kernel_size) +
             ", padding " + text_of(paddings) + ", dilation " + text_of(dilations));
    out_sizes[d] = room / stride[d] + 1;
  }
  cells(in_sizes);
  cells(out_sizes);
}

int64_t Geometry::kernel_volume() const {
  int64_t volume = 1;
  for (size_t d = 0; d < dims; ++d)
    if (__builtin_mul_overflow(volume, kernel[d], &volume)) return INT64_MAX;
  return volume;
}

Coordinates Geometry::offset(int64_t k) const {
  Coordinates at{};
  for (size_t d = dims; d-- > 0; k /= kernel[d]) at[d] = k % kernel[d];
  return at;
}

int64_t Geometry::cells(const Coordinates& sizes) const {
  int64_t count = batch_size;
  for (size_t d = 0; d < dims; ++d)
    if (__builtin_mul_overflow(count, sizes[d], &count))
      reject("batch_size times the spatial shape is more than 2^63 cells");
  return count;
}

}  // namespace sparse_conv
