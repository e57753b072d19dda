// The three transforms that all of torch.fft is made of: complex to complex, real to complex,
// complex to real.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "generated/kernels/fft.h"
#include "generated/ops/fft.h"
#include "generated/ops/view.h"
#include "ops/copy/copy.h"
#include "ops/fft/transform.h"

namespace uh::kernels {
namespace {

Dims wrapped(const Tensor& self, const Dims& dims, std::string_view op) {
  Dims out(dims.size());
  check(dims.empty() || self.ndim() > 0, op, ": a tensor without dimensions has no lines");
  for (size_t i = 0; i < dims.size(); ++i) {
    out[i] = wrap_dim(dims[i], self.ndim(), op);
    check(std::find(out.begin(), out.begin() + i, out[i]) == out.begin() + i, op,
          ": FFT dims must be unique, got ", dims);
  }
  return out;
}

double factor(const Dims& sizes, const Dims& dims, int64_t normalization) {
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(sizes[static_cast<size_t>(d)]);
  return normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(n) : 1 / n;
}

// Memory order of a result: the other dimensions as they lie in the input, then the transformed
// ones, those of larger stride first, so that each line is read and written in one piece.
Tensor result_like(const Tensor& self, const Dims& sizes, const Dims& dims, DType dtype) {
  Dims order, inner = dims;
  for (int64_t d = 0; d < self.ndim(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  const auto larger = [&](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); };
  std::stable_sort(order.begin(), order.end(), larger);
  if (inner.size() > 1) std::stable_sort(inner.begin(), inner.end() - 1, larger);
  for (int64_t d : inner) order.push_back(d);
  Dims strides(sizes.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return empty_strided(sizes, strides, dtype, self.device());
}

// Transforms every line of `t` along `dim`, in place.
template <class R>
void transform_lines(const Tensor& t, int64_t dim, int sign, R scale) {
  using C = Complex<R>;
  const int64_t n = t.size(dim), step = t.stride(dim), lines = t.numel() / n;
  const Transform<R> transform(n, sign);
  Dims sizes, strides;
  for (int64_t d = 0; d < t.ndim(); ++d) {
    if (d == dim) continue;
    sizes.push_back(t.size(d));
    strides.push_back(t.stride(d));
  }
  C* const data = t.data_as<C>();
  parallel_for(0, lines, std::max<int64_t>(1, 4096 / n), [&](int64_t lo, int64_t hi) {
    std::vector<C> line(static_cast<size_t>(n)), spare(static_cast<size_t>(n));
    for (int64_t i = lo; i < hi; ++i) {
      C* at = data;
      int64_t rest = i;
      for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) at += rest % sizes[d] * strides[d];
      for (int64_t k = 0; k < n; ++k) line[static_cast<size_t>(k)] = at[k * step];
      transform.run(line.data(), spare.data());
      for (int64_t k = 0; k < n; ++k) at[k * step] = line[static_cast<size_t>(k)] * scale;
    }
  });
}

// All dims of `t`, which is complex; the factor goes with the last.
void transform_dims(const Tensor& t, const Dims& dims, bool forward, double scale) {
  if (t.numel() == 0) return;
  for (size_t i = 0; i < dims.size(); ++i) {
    const double by = i + 1 == dims.size() ? scale : 1;
    if (t.dtype() == DType::kComplex64)
      transform_lines<float>(t, dims[i], forward ? -1 : 1, static_cast<float>(by));
    else
      transform_lines<double>(t, dims[i], forward ? -1 : 1, by);
  }
}

}  // namespace

Tensor fft_c2c(KeySet, const Tensor& self, const Dims& dim, int64_t normalization, bool forward) {
  check(is_complex(self.dtype()), "_fft_c2c: expects a complex tensor, got ", name(self.dtype()));
  const Dims dims = wrapped(self, dim, "_fft_c2c");
  const Tensor out = result_like(self, self.sizes(), dims, self.dtype());
  if (out.is_meta()) return out;
  copy_elements(out, self);
  transform_dims(out, dims, forward, factor(self.sizes(), dims, normalization));
  record_write(out);
  return out;
}

Tensor fft_r2c(KeySet, const Tensor& self, const Dims& dim, int64_t normalization, bool onesided) {
  check(self.dtype() == DType::kFloat32 || self.dtype() == DType::kFloat64,
        "_fft_r2c: expects float32 or float64, got ", name(self.dtype()));
  const Dims dims = wrapped(self, dim, "_fft_r2c");
  const DType dtype = to_complex(self.dtype());
  check(dims.empty() || self.size(dims.back()) > 0,
        "_fft_r2c: Invalid number of data points (0) specified");
  Dims half = self.sizes();
  if (onesided && !dims.empty()) {
    int64_t& last = half[static_cast<size_t>(dims.back())];
    last = last / 2 + 1;
  }
  const Tensor out = result_like(self, half, dims, dtype);
  if (out.is_meta() || out.numel() == 0) return out;
  const double scale = factor(self.sizes(), dims, normalization);
  if (!onesided || dims.empty()) {
    copy_elements(out, self);
    transform_dims(out, dims, true, scale);
  } else {  // the last dimension first, while the others are still to come only half is left of it
    const Tensor whole = result_like(self, self.sizes(), dims, dtype);
    copy_elements(whole, self);
    transform_dims(whole, {dims.back()}, true, scale);
    copy_elements(out, alias(whole, {half, whole.strides(), 0}));
    transform_dims(out, Dims(IntSpan(dims.data(), dims.size() - 1)), true, 1);
  }
  record_write(out);
  return out;
}

Tensor fft_c2r(KeySet, const Tensor& self, const Dims& dim, int64_t normalization,
               int64_t last_dim_size) {
  check(is_complex(self.dtype()), "_fft_c2r: expects a complex tensor, got ", name(self.dtype()));
  const Dims dims = wrapped(self, dim, "_fft_c2r");
  check(!dims.empty(), "_fft_c2r: needs a dimension");
  check(last_dim_size >= 1, "_fft_c2r: Invalid number of data points (", last_dim_size,
        ") specified");
  const int64_t last = dims.back(), stored = self.size(last), n = last_dim_size;
  check(stored >= n / 2 + 1, "_fft_c2r: ", n, " points need ", n / 2 + 1, " values, got ", stored);
  Dims sizes = self.sizes();
  sizes[static_cast<size_t>(last)] = n;
  const Tensor out = result_like(self, sizes, dims, to_real(self.dtype()));
  if (out.is_meta() || out.numel() == 0) return out;
  const Tensor whole = result_like(self, sizes, dims, self.dtype());
  // The half that is given, transformed along the other dimensions; then its mirror image.
  Dims half = sizes;
  half[static_cast<size_t>(last)] = n / 2 + 1;
  const Tensor given = alias(whole, {half, whole.strides(), 0});
  copy_elements(given, alias(self, {half, self.strides(), self.offset()}));
  transform_dims(given, Dims(IntSpan(dims.data(), dims.size() - 1)), false, 1);
  const int64_t step = whole.stride(last), lines = whole.numel() / n;
  Dims other_sizes = sizes, other_strides = whole.strides();
  other_sizes.erase(static_cast<size_t>(last));
  other_strides.erase(static_cast<size_t>(last));
  const auto mirror = [&](auto zero) {
    using C = decltype(zero);
    for (int64_t i = 0; i < lines; ++i) {
      C* at = whole.data_as<C>();
      int64_t rest = i;
      for (size_t d = other_sizes.size(); d-- > 0; rest /= other_sizes[d])
        at += rest % other_sizes[d] * other_strides[d];
      at[0].im = 0;
      if (n % 2 == 0) at[n / 2 * step].im = 0;
      for (int64_t k = n / 2 + 1; k < n; ++k) at[k * step] = conj(at[(n - k) * step]);
    }
  };
  if (self.dtype() == DType::kComplex64)
    mirror(Complex64{});
  else
    mirror(Complex128{});
  transform_dims(whole, {last}, false, factor(sizes, dims, normalization));
  // The real parts, where they lie: every second number.
  Dims strides = whole.strides();
  for (int64_t& stride : strides) stride *= 2;
  copy_elements(Strided(out), Strided(whole.data(), out.dtype(), sizes, strides));
  record_write(out);
  return out;
}

}  // namespace uh::kernels
