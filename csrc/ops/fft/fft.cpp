// torch.fft functions: sizes, dimensions and factors from the arguments, then a transform.
#include <algorithm>
#include <numeric>

#include "generated/kernels/fft.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/fft.h"
#include "generated/ops/join.h"
#include "generated/ops/view.h"
#include "ops/copy/write_out.h"
#include "ops/resize_output.h"

namespace uh::kernels {
namespace {

using Norm = std::optional<std::string>;
using MaybeInt = std::optional<int64_t>;
using MaybeDims = std::optional<Dims>;

// Returns 0 for no scaling, 1 for 1 / sqrt(n), 2 for 1 / n.
int64_t normalization(const Norm& norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? 0 : 2;
  if (*norm == "forward") return forward ? 2 : 0;
  check(*norm == "ortho", "Invalid normalization mode: \"", *norm, "\"");
  return 1;
}

Tensor promoted(const Tensor& t, bool to_complex_too) {
  check(!is_reduced_floating(t.dtype()), "fft: Unsupported dtype ", info(t.dtype()).title);
  const DType real = is_inexact(t.dtype()) ? t.dtype() : default_dtype();
  const DType dtype = to_complex_too ? to_complex(real) : real;
  if (t.dtype() == dtype) return t;
  return ops::_to_copy(t, dtype, Device::kUndefined, MemoryFormat::kUndefined);
}

// Truncates or zero-pads to n along a dimension.
Tensor resized(const Tensor& t, int64_t dim, int64_t n) {
  const int64_t size = t.size(dim);
  if (size == n) return t;
  if (size > n) return ops::narrow(t, dim, 0, n);
  Dims tail = t.sizes();
  tail[static_cast<size_t>(dim)] = n - size;
  return ops::cat({t, ops::zeros(tail, t.dtype(), t.device())}, dim);
}

int64_t points(MaybeInt n, int64_t otherwise) {
  const int64_t result = n.value_or(otherwise);
  check(result >= 1, "Invalid number of data points (", result, ") specified");
  return result;
}

void check_real(const Tensor& t, std::string_view op) {
  check(!is_complex(t.dtype()), op, " expects a real input tensor, but got ",
        info(t.dtype()).title);
}

int64_t one_dim(const Tensor& t, int64_t dim, std::string_view op) {
  check_kind(t.ndim() > 0, ErrorKind::kIndex, op, ": Dimension specified as ", dim,
             " but tensor has no dimensions");
  return wrap_dim(dim, t.ndim(), op);
}

Tensor c2c(const Tensor& self, MaybeInt n, int64_t dim, const Norm& norm, bool forward,
           std::string_view op) {
  const bool from_real = forward && !is_complex(self.dtype());
  const Tensor t = promoted(self, !from_real);
  const int64_t d = one_dim(t, dim, op), by = normalization(norm, forward);
  const Tensor lines = resized(t, d, points(n, t.size(d)));
  return from_real ? ops::_fft_r2c(lines, {d}, by, false) : ops::_fft_c2c(lines, {d}, by, forward);
}

Tensor r2c(const Tensor& self, MaybeInt n, int64_t dim, const Norm& norm, bool forward,
           std::string_view op) {
  check_real(self, op);
  const Tensor t = promoted(self, false);
  const int64_t d = one_dim(t, dim, op);
  const Tensor out =
      ops::_fft_r2c(resized(t, d, points(n, t.size(d))), {d}, normalization(norm, forward), true);
  return forward ? out : ops::conj_physical(out);
}

Tensor c2r(const Tensor& self, MaybeInt n, int64_t dim, const Norm& norm, bool forward,
           std::string_view op) {
  const Tensor t = promoted(self, true);
  const int64_t d = one_dim(t, dim, op), count = points(n, 2 * (t.size(d) - 1));
  const Tensor half = resized(t, d, count / 2 + 1);
  return ops::_fft_c2r(forward ? ops::conj_physical(half) : half, {d}, normalization(norm, forward),
                       count);
}

// The dimensions to transform, and the number of points along each.
struct Shape {
  Dims dims, sizes;
};

Shape shape_of(const Tensor& t, const MaybeDims& s, const MaybeDims& dim, std::string_view op) {
  Shape shape;
  if (dim) {
    for (int64_t d : *dim) shape.dims.push_back(one_dim(t, d, op));
    Dims sorted = shape.dims;
    std::sort(sorted.begin(), sorted.end());
    check(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), op,
          ": FFT dims must be unique, got ", *dim);
    check(!s || s->size() == dim->size(), op,
          ": When given, dim and shape arguments must have the same length, got ", *dim, " and ",
          s ? *s : Dims{});
  } else {
    const int64_t count = s ? static_cast<int64_t>(s->size()) : t.ndim();
    check(count <= t.ndim(), op, ": Got shape with ", count, " values but input tensor only has ",
          t.ndim(), " dimensions.");
    for (int64_t d = t.ndim() - count; d < t.ndim(); ++d) shape.dims.push_back(d);
  }
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    const int64_t argument = s ? (*s)[i] : -1;
    shape.sizes.push_back(argument == -1 ? t.size(shape.dims[i]) : argument);
  }
  return shape;
}

void check_points(const Shape& shape) {
  for (int64_t n : shape.sizes) check(n >= 1, "Invalid number of data points (", n, ") specified");
}

Tensor resized(Tensor t, const Shape& shape) {
  for (size_t i = 0; i < shape.dims.size(); ++i) t = resized(t, shape.dims[i], shape.sizes[i]);
  return t;
}

Tensor c2c_many(const Tensor& self, const MaybeDims& s, const MaybeDims& dim, const Norm& norm,
                bool forward, std::string_view op) {
  const Tensor t = promoted(self, true);
  const Shape shape = shape_of(t, s, dim, op);
  check_points(shape);
  if (shape.dims.empty()) return ops::clone(t, MemoryFormat::kUndefined);
  return ops::_fft_c2c(resized(t, shape), shape.dims, normalization(norm, forward), forward);
}

Tensor r2c_many(const Tensor& self, const MaybeDims& s, const MaybeDims& dim, const Norm& norm,
                bool forward, std::string_view op) {
  check_real(self, op);
  const Tensor t = promoted(self, false);
  const Shape shape = shape_of(t, s, dim, op);
  check(!shape.dims.empty(), op, " must transform at least one axis");
  check_points(shape);
  const int64_t by = normalization(norm, forward);
  const Tensor full = resized(t, shape);
  if (forward) return ops::_fft_r2c(full, shape.dims, by, true);
  // The last dimension yields half of the values; the others are then transformed inversely.
  const Dims tail(IntSpan(shape.dims.data(), shape.dims.size() - 1));
  const Tensor half = ops::conj_physical(ops::_fft_r2c(full, {shape.dims.back()}, by, true));
  return tail.empty() ? half : ops::_fft_c2c(half, tail, by, false);
}

Tensor c2r_many(const Tensor& self, const MaybeDims& s, const MaybeDims& dim, const Norm& norm,
                bool forward, std::string_view op) {
  const Tensor t = promoted(self, true);
  Shape shape = shape_of(t, s, dim, op);
  check(!shape.dims.empty(), op, " must transform at least one axis");
  int64_t& last = shape.sizes[shape.sizes.size() - 1];
  const bool has_size = s && s->back() != -1;
  const int64_t count = has_size ? last : 2 * (t.size(shape.dims.back()) - 1);
  check(count >= 1, "Invalid number of data points (", count, ") specified");
  last = count / 2 + 1;
  check_points(shape);
  const Tensor half = resized(t, shape);
  return ops::_fft_c2r(forward ? ops::conj_physical(half) : half, shape.dims,
                       normalization(norm, forward), count);
}

}  // namespace

#define UH_FFT_ONE(name, kind, forward)                                                            \
  Tensor fft_##name(KeySet, const Tensor& self, MaybeInt n, int64_t dim, const Norm& norm) {       \
    return kind(self, n, dim, norm, forward, #name);                                               \
  }
#define UH_FFT_MANY(name, kind, forward)                                                           \
  Tensor fft_##name##2(KeySet, const Tensor& self, const MaybeDims& s, const Dims& dim,            \
                       const Norm& norm) {                                                         \
    return kind##_many(self, s, dim, norm, forward, #name "2");                                    \
  }                                                                                                \
  Tensor fft_##name##n(KeySet, const Tensor& self, const MaybeDims& s, const MaybeDims& dim,       \
                       const Norm& norm) {                                                         \
    return kind##_many(self, s, dim, norm, forward, #name "n");                                    \
  }
#define UH_FFT(name, kind, forward)                                                                \
  UH_FFT_ONE(name, kind, forward)                                                                  \
  UH_FFT_MANY(name, kind, forward)

UH_FFT(fft, c2c, true)
UH_FFT(ifft, c2c, false)
UH_FFT(rfft, r2c, true)
UH_FFT(irfft, c2r, false)
UH_FFT(hfft, c2r, true)
UH_FFT(ihfft, r2c, false)

// As in PyTorch: a complex input's result is converted to the dtype of `out`, which a resize makes
// row-major. A real input's result is conjugated into `out` element by element, so `out` must have
// its dtype and gets its order.
void fft_ifft_out(KeySet, const Tensor& self, MaybeInt n, int64_t dim, const Norm& norm,
                  const Tensor& out) {
  const Tensor result = ops::fft_ifft(self, n, dim, norm);
  if (!is_complex(self.dtype())) return write_exact_out(out, result, "fft_ifft");
  resize_row_major(out, result);
  write_out(out, result, "fft_ifft");
}

namespace {

DType frequency_dtype(DType dtype, std::string_view op) {
  const DType result_dtype = dtype == DType::kUndefined ? default_dtype() : dtype;
  check(is_inexact(result_dtype), op, " requires a floating point or complex dtype, got ",
        name(result_dtype));
  return result_dtype;
}

Tensor shifted(const Tensor& self, const MaybeDims& dim, bool back) {
  Dims dims = dim.value_or(Dims()), shifts;
  if (!dim)
    for (int64_t d = 0; d < self.ndim(); ++d) dims.push_back(d);
  for (int64_t& d : dims) {
    d = wrap_dim(d, self.ndim(), "fftshift");
    const int64_t n = self.ndim() ? self.size(d) : 1;
    shifts.push_back(back ? (n + 1) / 2 : n / 2);
  }
  check(!dims.empty(), "fftshift: `shifts` required: there is no dimension to move along");
  return ops::roll(self, shifts, dims);
}

}  // namespace

Tensor fft_fftfreq(KeySet, int64_t n, double d, DType dtype, Device device) {
  const DType target = frequency_dtype(dtype, "fftfreq");
  check(n >= 0, "fftfreq: n must not be negative, got ", n);
  const Tensor up = ops::arange(Scalar(0), Scalar(n - n / 2), Scalar(1), target, device);
  const Tensor down = ops::arange(Scalar(-(n / 2)), Scalar(0), Scalar(1), target, device);
  return ops::mul(ops::cat({up, down}, 0), Scalar(1.0 / (static_cast<double>(n) * d)));
}

Tensor fft_rfftfreq(KeySet, int64_t n, double d, DType dtype, Device device) {
  const DType target = frequency_dtype(dtype, "rfftfreq");
  check(n >= 0, "rfftfreq: n must not be negative, got ", n);
  const Tensor up = ops::arange(Scalar(0), Scalar(n / 2 + 1), Scalar(1), target, device);
  return ops::mul(up, Scalar(1.0 / (static_cast<double>(n) * d)));
}

Tensor fft_fftshift(KeySet, const Tensor& self, const MaybeDims& dim) {
  return shifted(self, dim, false);
}
Tensor fft_ifftshift(KeySet, const Tensor& self, const MaybeDims& dim) {
  return shifted(self, dim, true);
}

}  // namespace uh::kernels
