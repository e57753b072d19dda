#include "backend/cpu/conv_channel_loops.h"

#include "backend/cpu/transpose_tile.h"
#include "backend/cpu/vectors.h"

namespace uh::UH_ISA {
namespace {

// Taps summed in registers before they join the total: as in conv_loops.cpp.
constexpr int64_t kChunk = 64;
// Pixels or taps summed at once: enough to hide the latency of an addition, and few enough for 16
// registers.
constexpr int kMaxPixels = 8, kMaxTaps = 12;

template <class T>
struct Loops {
  using Channels = Lanes<T>;
  using Vector = typename Channels::Vector;
  using Line = typename uh::UH_ISA::Line<T>::Type;
  using Source = typename ConvChannelLoops<T>::Source;
  static constexpr int64_t kLanes = Channels::kCount;
  static_assert(kTileSide<T> == kLanes);

  // ---- between planes and pixels

  // Calls f(first pixel, number) for blocks of kLanes pixels; the last one begins earlier and
  // repeats some, or has fewer if there are not as many.
  template <class F>
  static void each_block(int64_t pixels, const F& f) {
    if (pixels < kLanes) return f(0, pixels);
    int64_t p = 0;
    for (; p + kLanes <= pixels; p += kLanes) f(p, kLanes);
    if (p < pixels) f(pixels - kLanes, kLanes);
  }

  static void pack(T* to, const int64_t* place, const T* from, int64_t plane, int64_t channels,
                   int64_t pixels) {
    each_block(pixels, [&](int64_t first, int64_t n) {
      Line line[kLanes];
      const T* x = from + first;
      if (n == kLanes) {
#pragma GCC unroll 16
        for (int64_t c = 0; c < kLanes; ++c)
          line[c] = c < channels ? *reinterpret_cast<const Line*>(x + c * plane) : Line{};
      } else {
        T copied[kLanes * kLanes] = {};
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t p = 0; p < n; ++p) copied[c * kLanes + p] = x[c * plane + p];
#pragma GCC unroll 16
        for (int64_t c = 0; c < kLanes; ++c)
          line[c] = *reinterpret_cast<const Line*>(copied + c * kLanes);
      }
      transpose_lines(line);
#pragma GCC unroll 16
      for (int64_t p = 0; p < kLanes; ++p)
        if (p < n) *reinterpret_cast<Line*>(to + place[first + p]) = line[p];
    });
  }

  static void unpack(T* to, int64_t plane, const T* from, int64_t channels, int64_t pixels) {
    each_block(pixels, [&](int64_t first, int64_t n) {
      Line line[kLanes];
#pragma GCC unroll 16
      for (int64_t p = 0; p < kLanes; ++p)
        line[p] = p < n ? *reinterpret_cast<const Line*>(from + (first + p) * kLanes) : Line{};
      transpose_lines(line);
      T* const out = to + first;
      if (n == kLanes) {
#pragma GCC unroll 16
        for (int64_t c = 0; c < kLanes; ++c)
          if (c < channels) *reinterpret_cast<Line*>(out + c * plane) = line[c];
        return;
      }
      T copied[kLanes * kLanes];
#pragma GCC unroll 16
      for (int64_t c = 0; c < kLanes; ++c)
        *reinterpret_cast<Line*>(copied + c * kLanes) = line[c];
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t p = 0; p < n; ++p) out[c * plane + p] = copied[c * kLanes + p];
    });
  }

  // ---- sums over taps

  template <int kPixels>
  static void sum_tile(T* out, const int64_t* place, const T* weight, const T* start,
                       const int64_t* position, const Source& from) {
    const int64_t chunks = (from.taps + kChunk - 1) / kChunk;
    const T* x[kPixels];
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) x[p] = from.input + position[p];
    int64_t k = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const int64_t end = from.taps * (chunk + 1) / chunks;
      Vector part[kPixels] = {};
      for (; k < end; ++k) {
        const Vector w = Channels::load(weight + k * kLanes);
        const int64_t offset = from.offset[k];
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p) part[p] += w * Channels::load(x[p] + offset);
      }
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) {
        T* const to = out + place[p];
        Channels::store(to, part[p] + Channels::load(chunk == 0 ? start : to));
      }
    }
  }

  static void sum(T* out, const int64_t* place, const T* weight, const T* start,
                  const Source& from) {
    int64_t p = 0;
    const auto run = [&]<int kPixels>() {
      for (; from.pixels - p >= kPixels; p += kPixels)
        sum_tile<kPixels>(out, place + p, weight, start, from.position + p, from);
    };
    run.template operator()<kMaxPixels>();
    run.template operator()<4>();
    run.template operator()<2>();
    run.template operator()<1>();
  }

  // ---- sums over pixels

  // With few taps, several pixels at once hide the latency.
  template <int kTaps>
  static void products_tile(T* sums, const T* rows, const int64_t* offset, const Source& from) {
    constexpr int kAtOnce = kTaps > 4 ? 1 : kTaps > 2 ? 2 : 4;
    Vector sum[kAtOnce][kTaps] = {};
    int64_t tap[kTaps];
    for (int k = 0; k < kTaps; ++k) tap[k] = offset[k];
    const auto add = [&](Vector (&to)[kTaps], int64_t p) {
      const Vector row = Channels::load(rows + p * kLanes);
      const T* x = from.input + from.position[p];
#pragma GCC unroll 12
      for (int k = 0; k < kTaps; ++k) to[k] += row * Channels::load(x + tap[k]);
    };
    int64_t p = 0;
    for (; p + kAtOnce <= from.pixels; p += kAtOnce) {
#pragma GCC unroll 4
      for (int i = 0; i < kAtOnce; ++i) add(sum[i], p + i);
    }
    for (; p < from.pixels; ++p) add(sum[0], p);
#pragma GCC unroll 12
    for (int k = 0; k < kTaps; ++k) {
      Vector total = sum[0][k];
#pragma GCC unroll 4
      for (int i = 1; i < kAtOnce; ++i) total += sum[i][k];
      T* const to = sums + k * kLanes;
      Channels::store(to, Channels::load(to) + total);
    }
  }

  using ProductsTile = void (*)(T*, const T*, const int64_t*, const Source&);
  template <std::size_t... I>
  static ProductsTile products_tile_of(int64_t taps, std::index_sequence<I...>) {
    static constexpr ProductsTile tiles[] = {products_tile<static_cast<int>(I) + 1>...};
    return tiles[taps - 1];
  }

  // Splits the taps evenly: a tile of few would wait for its own sums.
  static void sum_products(T* sums, const T* rows, const Source& from) {
    const int64_t tiles = (from.taps + kMaxTaps - 1) / kMaxTaps;
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t first = from.taps * t / tiles, end = from.taps * (t + 1) / tiles;
      const auto tile = products_tile_of(end - first, std::make_index_sequence<kMaxTaps>{});
      tile(sums + first * kLanes, rows, from.offset + first, from);
    }
  }
};

template <class T>
ConvChannelLoops<T> make() {
  using Here = Loops<T>;
  return {Here::kLanes, Here::pack, Here::unpack, Here::sum, Here::sum_products};
}

}  // namespace

const FloatConvChannelLoops& float_conv_channel_loops() {
  static const FloatConvChannelLoops loops = make<float>();
  return loops;
}
const DoubleConvChannelLoops& double_conv_channel_loops() {
  static const DoubleConvChannelLoops loops = make<double>();
  return loops;
}

}  // namespace uh::UH_ISA
