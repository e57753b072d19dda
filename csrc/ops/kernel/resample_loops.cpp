#include "ops/kernel/resample_loops.h"

namespace uh::UH_ISA {
namespace {

template <class T>
void pick(T* __restrict out, const T* __restrict in, const int32_t* __restrict index,
          const T* __restrict weight, int64_t taps, int64_t n) {
  if (taps == 2) {
    for (int64_t x = 0; x < n; ++x)
      out[x] = weight[x] * in[index[x]] + weight[n + x] * in[index[n + x]];
    return;
  }
  for (int64_t x = 0; x < n; ++x) out[x] = weight[x] * in[index[x]];
  for (int64_t k = 1; k < taps; ++k) {
    const int32_t* __restrict i = index + k * n;
    const T* __restrict w = weight + k * n;
    for (int64_t x = 0; x < n; ++x) out[x] += w[x] * in[i[x]];
  }
}

template <class T>
void blend(T* __restrict out, const T* const* rows, const T* weight, int64_t taps, int64_t n) {
  if (taps == 2) {
    const T* __restrict a = rows[0], * __restrict b = rows[1];
    const T u = weight[0], v = weight[1];
    for (int64_t x = 0; x < n; ++x) out[x] = u * a[x] + v * b[x];
    return;
  }
  for (int64_t x = 0; x < n; ++x) out[x] = weight[0] * rows[0][x];
  for (int64_t k = 1; k < taps; ++k) {
    const T* __restrict a = rows[k];
    const T w = weight[k];
    for (int64_t x = 0; x < n; ++x) out[x] += w * a[x];
  }
}

}  // namespace

const FloatResampleLoops& float_resample_loops() {
  static const FloatResampleLoops loops{pick<float>, blend<float>};
  return loops;
}
const DoubleResampleLoops& double_resample_loops() {
  static const DoubleResampleLoops loops{pick<double>, blend<double>};
  return loops;
}

}  // namespace uh::UH_ISA
