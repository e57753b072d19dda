#include "backend/cpu/convolution/product.h"

#include <algorithm>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/gemm.h"
#include "ops/geometry.h"

namespace uh {
namespace {

// Returns the first two dimensions of a tensor whose other dimensions have size 1.
Tensor matrix(const Tensor& t) {
  return alias(t, {{t.size(0), t.size(1)}, {t.stride(0), t.stride(1)}, t.offset()});
}
Tensor transpose(const Tensor& matrix) {
  return alias(
      matrix,
      {{matrix.size(1), matrix.size(0)}, {matrix.stride(1), matrix.stride(0)}, matrix.offset()});
}

// The channels of an image as its last dimension.
Tensor channels_last(const Tensor& image) {
  Dims sizes = image.sizes(), strides = image.strides();
  for (Dims* dims : {&sizes, &strides}) {
    const int64_t channels = (*dims)[1];
    dims->erase(1);
    dims->push_back(channels);
  }
  return alias(image, {sizes, strides, image.offset()});
}

// A contiguous tensor as a matrix with that many rows.
Tensor as_rows(const Tensor& t, int64_t rows) {
  const int64_t columns = t.numel() / rows;
  return alias(t, {{rows, columns}, {columns, 1}, t.offset()});
}

int64_t pixels_of(const Tensor& image) { return image.numel() / image.size(1); }  // of all images

// An image with its padding, and views of it: the windows that a kernel of the weight's size has
// for the pixels of `small`. A trimmed kernel (trim.h) has less padding before the image than after
// it.
class Padded {
 public:
  Padded(const Tensor& image, const Tensor& small, const Tensor& weight,
         const ConvolutionOptions& options) {
    const size_t axes = image.sizes().size() - 2, first = kConvDims - axes;
    Dims sizes = image.sizes();
    for (size_t a = 0; a < axes; ++a) {
      const int64_t reach = (small.sizes()[a + 2] - 1) * options.stride[a + first] +
                            (weight.sizes()[a + 2] - 1) * options.dilation[a + first] + 1;
      sizes[a + 2] = std::max(sizes[a + 2] + options.padding[a + first], reach);
    }
    memory = empty(sizes, image.dtype());
    int64_t offset = memory.offset();
    for (size_t a = 0; a < axes; ++a)
      offset += options.padding[a + first] * memory.strides()[a + 2];
    inner = alias(memory, {image.sizes(), memory.strides(), offset});
    Dims window_sizes{small.size(0)}, strides{memory.stride(0)};
    for (size_t a = 0; a < axes; ++a) {
      window_sizes.push_back(small.sizes()[a + 2]);
      strides.push_back(memory.strides()[a + 2] * options.stride[a + first]);
    }
    window_sizes.push_back(memory.size(1));
    strides.push_back(memory.stride(1));
    for (size_t a = 0; a < axes; ++a) {
      window_sizes.push_back(weight.sizes()[a + 2]);
      strides.push_back(memory.strides()[a + 2] * options.dilation[a + first]);
    }
    windows = alias(memory, {window_sizes, strides, memory.offset()});
  }

  Tensor memory;   // with the padding
  Tensor inner;    // without
  Tensor windows;  // (images, pixels of small..., channels, taps...)
};

// The windows of `image` as rows of a matrix, one for each pixel of `small`.
Tensor copy_windows(const Tensor& image, const Tensor& small, const Tensor& weight,
                    const ConvolutionOptions& options) {
  const Padded padded(image, small, weight, options);
  fill_elements(padded.memory, ElementBytes{});
  copy_elements(padded.inner, image);
  return as_rows(as_contiguous(padded.windows), pixels_of(small));
}

// windows[...] += rows[...]; windows overlap.
template <class T>
void add_to_windows(const Tensor& windows, const Tensor& rows) {
  const Geometry<1> g = make_geometry<1>(windows.sizes(), {IntSpan(windows.strides())}, false);
  const T* from = rows.data_as<T>();
  for_rows(g, 0, g.rows(), [&](const auto& at) {
    T* to = windows.data_as<T>() + at[0];
    for (int64_t i = 0; i < g.row(); ++i) to[i * g.row_stride(0)] += *from++;
  });
}

}  // namespace

bool is_product(const Tensor& out, const Tensor& input, const Tensor& weight,
                const ConvolutionOptions& options) {
  const auto of_one_pixel = [](const Tensor& t) { return t.numel() == t.size(0) * t.size(1); };
  return options.groups == 1 && options.padding == Spatial{0, 0, 0} && is_floating(out.dtype()) &&
         out.dtype() == input.dtype() && out.dtype() == weight.dtype() && of_one_pixel(out) &&
         of_one_pixel(input) && of_one_pixel(weight);
}

void convolve_by_product(const Tensor& out, const Tensor& input, const Tensor& weight,
                         const Tensor& bias, bool transposed) {
  const Tensor result = matrix(out);
  if (bias) copy_elements(result, bias);
  const Scale added{Scalar(1), Scalar(1)};
  multiply(result, matrix(input), Reading::kMatrix, transposed ? matrix(weight) : transpose(weight),
           Reading::kMatrix, {}, bias ? &added : nullptr);
}

void weight_by_product(const Tensor& out, const Tensor& rows, const Tensor& columns) {
  multiply(matrix(out), transpose(rows), Reading::kMatrix, matrix(columns), Reading::kMatrix, {});
}

bool has_few_windows(const Tensor& small, const Tensor& large, const Tensor& weight,
                     const ConvolutionOptions& options) {
  constexpr int64_t kFew = 64;
  const int64_t pixels = pixels_of(small);
  return options.groups == 1 && is_floating(small.dtype()) && small.dtype() == large.dtype() &&
         small.dtype() == weight.dtype() && large.numel() > 0 && pixels > 0 && pixels <= kFew &&
         4 * pixels <= weight.size(0);
}

void convolve_windows(const Tensor& out, const Tensor& input, const Tensor& weight,
                      const Tensor& bias, const ConvolutionOptions& options) {
  const Tensor weights = as_rows(as_contiguous(weight), weight.size(0));
  if (!options.transposed) {
    const Tensor windows = copy_windows(input, out, weight, options);
    const Tensor result = empty(channels_last(out).sizes(), out.dtype());
    if (bias) copy_elements(result, bias);
    const Scale added{Scalar(1), Scalar(1)};
    multiply(as_rows(result, windows.size(0)), windows, Reading::kMatrix, transpose(weights),
             Reading::kMatrix, {}, bias ? &added : nullptr);
    return copy_elements(channels_last(out), result);
  }
  const Tensor pixels = as_rows(as_contiguous(channels_last(input)), pixels_of(input));
  const Tensor windows = empty(Dims{pixels.size(0), weights.size(1)}, out.dtype());
  multiply(windows, pixels, Reading::kMatrix, weights, Reading::kMatrix, {});
  const Padded padded(out, input, weight, options);
  fill_elements(padded.memory, ElementBytes{});
  if (bias) copy_elements(channels_last(padded.memory), bias);
  if (out.dtype() == DType::kFloat32)
    add_to_windows<float>(padded.windows, windows);
  else
    add_to_windows<double>(padded.windows, windows);
  copy_elements(out, padded.inner);
}

void weight_by_windows(const Tensor& out, const Tensor& rows, const Tensor& columns,
                       const ConvolutionOptions& options) {
  const Tensor pixels = as_rows(as_contiguous(channels_last(rows)), pixels_of(rows));
  multiply(as_rows(out, out.size(0)), transpose(pixels), Reading::kMatrix,
           copy_windows(columns, rows, out, options), Reading::kMatrix, {});
}

}  // namespace uh
