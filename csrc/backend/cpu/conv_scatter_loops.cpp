#include "backend/cpu/conv_scatter_loops.h"

namespace uh::UH_ISA {
namespace {

// kMaxPixels: 2 sums each, 2 weights and an input fill 27 of 32 registers, or 15 of 16.
#if defined(__AVX512F__)
constexpr int kBytes = 64, kMaxPixels = 12;
#elif defined(__AVX2__)
constexpr int kBytes = 32, kMaxPixels = 6;
#else
constexpr int kBytes = 16, kMaxPixels = 6;
#endif

template <class T, int kTaps, int kPixels>
struct Tile {
  typedef T Vector __attribute__((vector_size(kBytes)));
  typedef T Loose __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));

  static void run(T* out, const typename ConvScatterLoops<T>::Source& from) {
    Vector sum[kTaps][kPixels] = {};
    const T *input = from.input, *weight = from.weight;
    for (int64_t c = 0; c < from.channels; ++c) {
      Vector w[kTaps];
#pragma GCC unroll 2
      for (int k = 0; k < kTaps; ++k)
        w[k] = *reinterpret_cast<const Loose*>(weight + k * from.weight_tap);
#pragma GCC unroll 12
      for (int j = 0; j < kPixels; ++j) {
        const Vector x = input[j] - Vector{};
#pragma GCC unroll 2
        for (int k = 0; k < kTaps; ++k) sum[k][j] += w[k] * x;
      }
      input += from.input_channel;
      weight += from.weight_channel;
    }
#pragma GCC unroll 2
    for (int k = 0; k < kTaps; ++k) {
#pragma GCC unroll 12
      for (int j = 0; j < kPixels; ++j) {
        auto* at = reinterpret_cast<Loose*>(out + from.position[j] + from.offset[k]);
        *at = Vector(*at) + sum[k][j];
      }
    }
  }
};

template <class T>
ConvScatterLoops<T> make() {
  ConvScatterLoops<T> loops{};
  loops.lanes = kBytes / static_cast<int64_t>(sizeof(T));
  const int64_t pixels[] = {1, 2, kMaxPixels / 3, kMaxPixels};
  for (int i = 0; i < ConvScatterLoops<T>::kPixelKinds; ++i) loops.pixels[i] = pixels[i];
  const auto fill = [&]<int kTaps>() {
    auto& tile = loops.tile[kTaps - 1];
    tile[0] = Tile<T, kTaps, 1>::run;
    tile[1] = Tile<T, kTaps, 2>::run;
    tile[2] = Tile<T, kTaps, kMaxPixels / 3>::run;
    tile[3] = Tile<T, kTaps, kMaxPixels>::run;
  };
  fill.template operator()<1>();
  fill.template operator()<2>();
  return loops;
}

}  // namespace

const FloatConvScatterLoops& float_conv_scatter_loops() {
  static const FloatConvScatterLoops loops = make<float>();
  return loops;
}
const DoubleConvScatterLoops& double_conv_scatter_loops() {
  static const DoubleConvScatterLoops loops = make<double>();
  return loops;
}

}  // namespace uh::UH_ISA
