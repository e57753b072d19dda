#include "ops/fft/shapes.h"

#include <algorithm>

#include "tensor/stride_order.h"

namespace uh {

Dims fft_dims(const Tensor& self, const Dims& dims, std::string_view op) {
  Dims out(dims.size());
  check(dims.empty() || self.ndim() > 0, op, ": a tensor without dimensions has no lines");
  for (size_t i = 0; i < dims.size(); ++i) {
    out[i] = wrap_dim(dims[i], self.ndim(), op);
    check(std::find(out.begin(), out.begin() + i, out[i]) == out.begin() + i, op,
          ": FFT dims must be unique, got ", dims);
  }
  return out;
}

Tensor empty_fft_result(const Tensor& self, const Dims& sizes, const Dims& dims, DType dtype,
                        bool halved) {
  Dims order, inner = dims;
  for (int64_t d = 0; d < self.ndim(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  const auto larger = [&](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); };
  std::stable_sort(order.begin(), order.end(), larger);
  if (inner.size() > 1) std::stable_sort(inner.begin(), inner.end() - halved, larger);
  for (int64_t d : inner) order.push_back(d);
  Dims steps = sizes;  // an empty dimension counts as one element
  for (int64_t& size : steps) size = std::max<int64_t>(size, 1);
  return empty_strided(sizes, dense_strides(steps, order), dtype, self.device());
}

}  // namespace uh

namespace uh::shapes {

Tensor fft_c2c(const Tensor& self, const Dims& dim) {
  check(is_complex(self.dtype()), "_fft_c2c: expects a complex tensor, got ", name(self.dtype()));
  return empty_fft_result(self, self.sizes(), fft_dims(self, dim, "_fft_c2c"), self.dtype(),
                          false);
}

Tensor fft_r2c(const Tensor& self, const Dims& dim, bool onesided) {
  check(self.dtype() == DType::kFloat32 || self.dtype() == DType::kFloat64,
        "_fft_r2c: expects float32 or float64, got ", name(self.dtype()));
  const Dims dims = fft_dims(self, dim, "_fft_r2c");
  check(dims.empty() || self.size(dims.back()) > 0,
        "_fft_r2c: Invalid number of data points (0) specified");
  Dims sizes = self.sizes();
  if (onesided && !dims.empty()) {
    int64_t& last = sizes[static_cast<size_t>(dims.back())];
    last = last / 2 + 1;
  }
  return empty_fft_result(self, sizes, dims, to_complex(self.dtype()), onesided);
}

Tensor fft_c2r(const Tensor& self, const Dims& dim, int64_t last_dim_size) {
  check(is_complex(self.dtype()), "_fft_c2r: expects a complex tensor, got ", name(self.dtype()));
  const Dims dims = fft_dims(self, dim, "_fft_c2r");
  check(!dims.empty(), "_fft_c2r: needs a dimension");
  check(last_dim_size >= 1, "_fft_c2r: Invalid number of data points (", last_dim_size,
        ") specified");
  const int64_t stored = self.size(dims.back()), n = last_dim_size;
  check(stored >= n / 2 + 1, "_fft_c2r: ", n, " points need ", n / 2 + 1, " values, got ", stored);
  Dims sizes = self.sizes();
  sizes[static_cast<size_t>(dims.back())] = n;
  return empty_fft_result(self, sizes, dims, to_real(self.dtype()), true);
}

}  // namespace uh::shapes
