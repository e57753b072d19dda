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

  static void pack(T* to, const int64_t* target, const T* from, int64_t plane, int64_t channels,
                   int64_t pixels) {
    each_block(pixels, [&](int64_t first, int64_t n) {
      alignas(sizeof(Line)) Line line[kLanes];
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
        if (p < n) *reinterpret_cast<Line*>(to + target[first + p]) = line[p];
    });
  }

  static void unpack(T* to, int64_t plane, const T* from, int64_t channels, int64_t pixels) {
    each_block(pixels, [&](int64_t first, int64_t n) {
      alignas(sizeof(Line)) Line line[kLanes];
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
      for (int64_t c = 0; c < kLanes; ++c) *reinterpret_cast<Line*>(copied + c * kLanes) = line[c];
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t p = 0; p < n; ++p) out[c * plane + p] = copied[c * kLanes + p];
    });
  }

  // ---- sums over taps

  template <int kPixels>
  static void sum_tile(T* out, const int64_t* target, const T* weight, const T* start,
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
        T* const to = out + target[p];
        Channels::store(to, part[p] + Channels::load(chunk == 0 ? start : to));
      }
    }
  }

  static void sum(T* out, const int64_t* target, const T* weight, const T* start,
                  const Source& from) {
    int64_t p = 0;
    const auto run = [&]<int kPixels>() {
      for (; from.pixels - p >= kPixels; p += kPixels)
        sum_tile<kPixels>(out, target + p, weight, start, from.position + p, from);
    };
    run.template operator()<kMaxPixels>();
    run.template operator()<4>();
    run.template operator()<2>();
    run.template operator()<1>();
  }

  // The sums fill all registers but the weights' and two.
  static constexpr int max_pixels(int vectors) { return kRegisterBytes == 64 ? 14 : 12 / vectors; }

  template <int kVectors, int kPixels>
  static void numbers_tile(T* out, const int64_t* target, int64_t out_vector, const T* weight,
                           const T* start, const int64_t* position, const Source& from) {
    const int64_t chunks = (from.taps + kChunk - 1) / kChunk;
    const T* x[kPixels];
#pragma GCC unroll 28
    for (int p = 0; p < kPixels; ++p) x[p] = from.input + position[p];
    int64_t k = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const int64_t end = from.taps * (chunk + 1) / chunks;
      Vector part[kPixels][kVectors] = {};
      for (; k < end; ++k) {
        Vector w[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          w[v] = Channels::load(weight + (k * kVectors + v) * kLanes);
        const int64_t offset = from.offset[k];
#pragma GCC unroll 28
        for (int p = 0; p < kPixels; ++p) {
          const Vector in = Channels::all(x[p][offset]);
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) part[p][v] += w[v] * in;
        }
      }
#pragma GCC unroll 28
      for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          T* const to = out + target[p] + v * out_vector;
          Channels::store(to, part[p][v] + Channels::load(chunk == 0 ? start + v * kLanes : to));
        }
      }
    }
  }

  using NumbersTile = void (*)(T*, const int64_t*, int64_t, const T*, const T*, const int64_t*,
                               const Source&);
  template <int kVectors, std::size_t... I>
  static NumbersTile numbers_tile_of(int64_t pixels, std::index_sequence<I...>) {
    static constexpr NumbersTile tiles[] = {numbers_tile<kVectors, static_cast<int>(I) + 1>...};
    return tiles[pixels - 1];
  }

  // Adds kTaps adjacent taps of adjacent pixels: an input is loaded once for all taps that it
  // meets.
  template <int kTaps, int kPixels>
  static void add_run(Vector (&sum)[kPixels], const T* weight, const T* x) {
    Vector w[kTaps];
#pragma GCC unroll 3
    for (int k = 0; k < kTaps; ++k) w[k] = Channels::load(weight + k * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kPixels + kTaps - 1; ++i) {
      const Vector in = Channels::all(x[i]);
#pragma GCC unroll 3
      for (int k = 0; k < kTaps; ++k)
        if (i >= k && i - k < kPixels) sum[i - k] += w[k] * in;
    }
  }

  template <int kPixels>
  static void row_tile(T* out, const int64_t* target, const T* weight, const T* start,
                       const T* input, const Source& from) {
    const int64_t runs = from.taps / from.run, chunks = (from.taps + kChunk - 1) / kChunk;
    int64_t r = 0, k = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const int64_t end = runs * (chunk + 1) / chunks;
      Vector part[kPixels] = {};
      for (; r < end; ++r) {
        // The offset is loaded for each x: from a known distance, the compiler would keep
        // inputs of one x for the next.
        for (const int64_t last = k + from.run; k < last;) {
          const T* x = input + from.offset[k];
          const int64_t left = last - k, n = left > 3 ? 3 : left;
          if (n == 3) add_run<3, kPixels>(part, weight, x);
          if (n == 2) add_run<2, kPixels>(part, weight, x);
          if (n == 1) add_run<1, kPixels>(part, weight, x);
          k += n, weight += n * kLanes;
        }
      }
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) {
        T* const to = out + target[p];
        Channels::store(to, part[p] + Channels::load(chunk == 0 ? start : to));
      }
    }
  }

  using RowTile = void (*)(T*, const int64_t*, const T*, const T*, const T*, const Source&);
  template <std::size_t... I>
  static RowTile row_tile_of(int64_t pixels, std::index_sequence<I...>) {
    static constexpr RowTile tiles[] = {row_tile<static_cast<int>(I) + 1>...};
    return tiles[pixels - 1];
  }

  // Calls f(first, number) for the tiles of n pixels, which are split evenly: a tile of few would
  // wait for its own sums.
  template <class F>
  static void each_tile(int64_t n, int64_t max_size, const F& f) {
    const int64_t tiles = (n + max_size - 1) / max_size;
    for (int64_t t = 0; t < tiles; ++t) f(n * t / tiles, n * (t + 1) / tiles - n * t / tiles);
  }

  template <int kVectors>
  static void sum_numbers(T* out, const int64_t* target, int64_t out_vector, const T* weight,
                          const T* start, const Source& from) {
    constexpr int kMax = max_pixels(kVectors);
    each_tile(from.pixels, kMax, [&](int64_t first, int64_t n) {
      const auto tile = numbers_tile_of<kVectors>(n, std::make_index_sequence<kMax>{});
      tile(out, target + first, out_vector, weight, start, from.position + first, from);
    });
  }

  // With a single vector, each product would need a load: adjacent taps share theirs.
  static void sum_numbers_of_one(T* out, const int64_t* target, int64_t out_vector, const T* weight,
                                 const T* start, const Source& from) {
    constexpr int kMax = kRegisterBytes == 64 ? 14 : 10;
    if (from.run == 1 || from.row < 4)
      return sum_numbers<1>(out, target, out_vector, weight, start, from);
    for (int64_t row = 0; row < from.pixels; row += from.row) {
      each_tile(from.row, kMax, [&](int64_t first, int64_t n) {
        const T* input = from.input + from.position[row + first];
        const auto tile = row_tile_of(n, std::make_index_sequence<kMax>{});
        tile(out, target + row + first, weight, start, input, from);
      });
    }
  }

  // ---- sums over pixels

  // With few taps, several pixels at once hide the latency.
  template <int kTaps>
  static void products_tile(T* sums, const T* rows, const int64_t* offset, const Source& from) {
    constexpr int kAtOnce = kTaps > 4 ? 1 : kTaps > 2 ? 2 : 4;
    Vector sum[kAtOnce][kTaps] = {};
    int64_t tap[kTaps];
    for (int k = 0; k < kTaps; ++k) tap[k] = offset[k];
    const auto add = [&](Vector(&to)[kTaps], int64_t p) {
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

  static void sum_products(T* sums, const T* rows, const Source& from) {
    each_tile(from.taps, kMaxTaps, [&](int64_t first, int64_t n) {
      const auto tile = products_tile_of(n, std::make_index_sequence<kMaxTaps>{});
      tile(sums + first * kLanes, rows, from.offset + first, from);
    });
  }
};

template <class T>
ConvChannelLoops<T> make() {
  using Here = Loops<T>;
  return {Here::kLanes,
          Here::pack,
          Here::unpack,
          Here::sum,
          {Here::sum_numbers_of_one, Here::template sum_numbers<2>},
          Here::sum_products};
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
