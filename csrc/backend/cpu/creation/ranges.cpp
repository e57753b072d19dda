// arange, linspace and eye.
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/copy_loops.h"
#include "base/parallel.h"
#include "generated/kernels/creation.h"

namespace uh::kernels {
namespace {

constexpr int64_t kRangeGrain = 32768;
constexpr int64_t kChunk = 512;

// out[i] = f(i), computed as T and converted to the dtype of `out`.
template <class T, class F>
void generate(const Tensor& out, const F& f) {
  const int64_t item = itemsize(out.dtype());
  const bool direct = out.dtype() == dtype_of<T>::value;
  parallel_for(0, out.numel(), kRangeGrain, [&](int64_t lo, int64_t hi) {
    if (direct) {
      T* at = out.data_as<T>();
      for (int64_t i = lo; i < hi; ++i) at[i] = f(i);
      return;
    }
    T buffer[kChunk];
    for (int64_t i = lo; i < hi; i += kChunk) {
      const int64_t m = std::min(kChunk, hi - i);
      for (int64_t j = 0; j < m; ++j) buffer[j] = f(i + j);
      cast_run(out.data() + i * item, out.dtype(), buffer, dtype_of<T>::value, m);
    }
  });
}

}  // namespace

void arange(const Scalar& start, const Scalar&, const Scalar& step, DType, Device,
            const Tensor& out) {
  if (is_floating(out.dtype())) {
    const double a = start.to_double(), s = step.to_double();
    generate<double>(out, [=](int64_t i) { return a + static_cast<double>(i) * s; });
  } else {
    const auto a = static_cast<uint64_t>(start.to_int()), s = static_cast<uint64_t>(step.to_int());
    generate<int64_t>(
        out, [=](int64_t i) { return static_cast<int64_t>(a + static_cast<uint64_t>(i) * s); });
  }
}

void linspace(const Scalar& start, const Scalar& end, int64_t steps, DType, Device,
              const Tensor& out) {
  // Computed from both ends towards the middle, so that the last element is exactly `end`. For
  // integers both ends are integers.
  const auto fill = [&](auto zero) {
    using T = decltype(zero);
    const bool integral = is_integral(out.dtype());
    const T a = integral ? static_cast<T>(start.to_int()) : start.to<T>();
    const T b = integral ? static_cast<T>(end.to_int()) : end.to<T>();
    const T step = steps > 1 ? (b - a) / static_cast<T>(steps - 1) : T(0);
    generate<T>(out, [=](int64_t i) {
      return i < steps / 2 || steps == 1 ? a + step * static_cast<T>(i)
                                         : b - step * static_cast<T>(steps - i - 1);
    });
  };
  if (is_complex(out.dtype()))
    out.dtype() == DType::kComplex64 ? fill(Complex64{}) : fill(Complex128{});
  else
    out.dtype() == DType::kFloat32 ? fill(float{}) : fill(double{});
}

void eye(int64_t n, std::optional<int64_t> columns, DType, Device, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t m = columns.value_or(n);
  fill_elements(out, element_bytes(0, out.dtype()));
  const ElementBytes one = element_bytes(1, out.dtype());
  const auto fill = copy_loops().fill[size_class(itemsize(out.dtype()))];
  fill(out.data(), m + 1, one.data(), std::min(n, m));
}

}  // namespace uh::kernels
