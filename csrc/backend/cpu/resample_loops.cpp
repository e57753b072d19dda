#include "backend/cpu/resample_loops.h"

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

constexpr int64_t kTile = 512;  // sums of bytes per tile

void round_sums(uint8_t* __restrict out, const int32_t* __restrict sums, int64_t n, int precision) {
  for (int64_t x = 0; x < n; ++x) {
    const int32_t sum = sums[x] >> precision;
    out[x] = static_cast<uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
  }
}

void pick_bytes(uint8_t* __restrict out, const uint8_t* __restrict in,
                const int32_t* __restrict index, const int32_t* __restrict weight, int64_t taps,
                int64_t n, int precision) {
  int32_t sums[kTile];
  for (int64_t begin = 0; begin < n; begin += kTile) {
    const int64_t count = n - begin < kTile ? n - begin : kTile;
    for (int64_t x = 0; x < count; ++x) sums[x] = 1 << (precision - 1);
    for (int64_t k = 0; k < taps; ++k) {
      const int32_t* __restrict i = index + k * n + begin;
      const int32_t* __restrict w = weight + k * n + begin;
      for (int64_t x = 0; x < count; ++x) sums[x] += w[x] * in[i[x]];
    }
    round_sums(out + begin, sums, count, precision);
  }
}

void blend_bytes(uint8_t* __restrict out, const uint8_t* const* rows, const int32_t* weight,
                 int64_t taps, int64_t n, int precision) {
  int32_t sums[kTile];
  for (int64_t begin = 0; begin < n; begin += kTile) {
    const int64_t count = n - begin < kTile ? n - begin : kTile;
    for (int64_t x = 0; x < count; ++x) sums[x] = 1 << (precision - 1);
    for (int64_t k = 0; k < taps; ++k) {
      const uint8_t* __restrict row = rows[k] + begin;
      const int32_t w = weight[k];
      for (int64_t x = 0; x < count; ++x) sums[x] += w * row[x];
    }
    round_sums(out + begin, sums, count, precision);
  }
}

}  // namespace

const ByteResampleLoops& byte_resample_loops() {
  static const ByteResampleLoops loops{pick_bytes, blend_bytes};
  return loops;
}
const FloatResampleLoops& float_resample_loops() {
  static const FloatResampleLoops loops{pick<float>, blend<float>};
  return loops;
}
const DoubleResampleLoops& double_resample_loops() {
  static const DoubleResampleLoops loops{pick<double>, blend<double>};
  return loops;
}

}  // namespace uh::UH_ISA
