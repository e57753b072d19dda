#include "products.h"

#include <underhood/underhood_library.hpp>
#include <underhood/underhood_parallel.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "geometry.h"
#include "rulebook.h"

namespace sparse_conv {
namespace {

using uh::Tensor;

// Note [Tiles of pairs]: the pairs of an offset are gathered, multiplied and scattered one tile at
// a time, so that a tile's rows stay in the cache between the steps. The tiles, and so the result,
// do not depend on the number of threads.
int64_t tile_rows(int64_t in_channels, int64_t out_channels, int64_t item) {
  constexpr int64_t kTileBytes = 1 << 18, kMaxRows = 4096, kMinRows = 64;
  // OpenBLAS computes products of at most this many multiplications on the calling thread.
  constexpr int64_t kSerial = 1 << 18;
  constexpr int64_t kNarrow = 96;  // bytes of a row below which the engine uses OpenBLAS
  const int64_t rows = kTileBytes / (item * std::max<int64_t>(in_channels + out_channels, 1));
  const int64_t limit = out_channels * item < kNarrow || in_channels < 16
                            ? kSerial / std::max<int64_t>(in_channels * out_channels, 1)
                            : kMaxRows;
  return std::clamp(std::min(rows, limit), kMinRows, kMaxRows);
}

// Returns whether rows are consecutive: then a view suffices instead of a copy.
bool is_consecutive(const int64_t* rows, int64_t n) {
  for (int64_t i = 1; i < n; ++i)
    if (rows[i] != rows[0] + i) return false;
  return true;
}
Tensor rows_of(const Tensor& t, int64_t first, int64_t n) {
  return uh::slice(t, 0, first, first + n, 1);
}

constexpr int64_t kAhead = 8;  // rows between a prefetch and its use

// Calls loop with the size of a row, as a constant for common sizes: copying and adding rows then
// takes a few vector instructions instead of a call.
template <class Loop>
void with_row_size(int64_t size, const Loop& loop) {
  switch (size) {
    case 16: return loop(std::integral_constant<int64_t, 16>());
    case 32: return loop(std::integral_constant<int64_t, 32>());
    case 64: return loop(std::integral_constant<int64_t, 64>());
    case 128: return loop(std::integral_constant<int64_t, 128>());
    default: return loop(size);
  }
}

template <class T>
void gather(const Tensor& from, const char* name, const int64_t* rows, int64_t n,
            const Tensor& to) {
  const auto count = static_cast<uint64_t>(from.size(0));
  const T* source = from.data_ptr<T>();
  T* target = to.data_ptr<T>();
  with_row_size(from.size(1), [&](auto channels) {
    for (int64_t i = 0; i < n; ++i) {
      if (i + kAhead < n) __builtin_prefetch(source + rows[i + kAhead] * channels);
      if (static_cast<uint64_t>(rows[i]) >= count) [[unlikely]]
        check_row(name, rows[i], from.size(0));
      std::memcpy(target + i * channels, source + rows[i] * channels, sizeof(T) * channels);
    }
  });
}

template <class T>
void scatter_add(const Tensor& to, const int64_t* rows, int64_t n, const Tensor& from) {
  const auto count = static_cast<uint64_t>(to.size(0));
  const T* source = from.data_ptr<T>();
  T* target = to.data_ptr<T>();
  with_row_size(to.size(1), [&](auto channels) {
    for (int64_t i = 0; i < n; ++i) {
      if (i + kAhead < n) __builtin_prefetch(target + rows[i + kAhead] * channels, 1);
      if (static_cast<uint64_t>(rows[i]) >= count) [[unlikely]]
        check_row("out_rows", rows[i], to.size(0));
      const T* __restrict add = source + i * channels;
      T* __restrict row = target + rows[i] * channels;
      for (int64_t c = 0; c < channels; ++c) row[c] += add[c];
    }
  });
}

void check_floating(const char* name, const Tensor& t, int64_t dims) {
  if (t.dtype() != uh::kFloat && t.dtype() != uh::kDouble)
    throw uh::Error(UH_ERROR_TYPE,
                    std::string("sparse_conv: ") + name + " must be float32 or float64");
  if (t.dim() != dims)
    reject(std::string(name) + " must have " + std::to_string(dims) +
           " dimensions, got the shape " + text_of(t.sizes()));
}

void check_same_dtype(const Tensor& features, const char* name, const Tensor& other) {
  if (features.dtype() != other.dtype())
    throw uh::Error(UH_ERROR_TYPE,
                    std::string("sparse_conv: features and ") + name + " have different dtypes");
}

void check_product(const Tensor& features, const Tensor& weight, int64_t offsets, int64_t n_out) {
  check_floating("features", features, 2);
  check_floating("weight", weight, 3);
  check_same_dtype(features, "weight", weight);
  if (features.size(1) != weight.size(1))
    reject("features have " + std::to_string(features.size(1)) + " channels, weight takes " +
           std::to_string(weight.size(1)) + "; shapes " + text_of(features.sizes()) + " and " +
           text_of(weight.sizes()));
  if (weight.size(0) != offsets)
    reject("weight has " + std::to_string(weight.size(0)) + " kernel offsets, the rulebook " +
           std::to_string(offsets));
  if (n_out < 0) reject("n_out must not be negative, got " + std::to_string(n_out));
}

template <class T>
void multiply_offset(const Tensor& features, const Tensor& weight, const int64_t* in_rows,
                     const int64_t* out_rows, int64_t n, const Tensor& out) {
  if (is_consecutive(in_rows, n) && is_consecutive(out_rows, n)) {
    check_row("in_rows", in_rows[0], features.size(0));
    check_row("in_rows", in_rows[n - 1], features.size(0));
    check_row("out_rows", out_rows[0], out.size(0));
    check_row("out_rows", out_rows[n - 1], out.size(0));
    uh::addmm_(rows_of(out, out_rows[0], n), rows_of(features, in_rows[0], n), weight);
    return;
  }
  const int64_t tile = tile_rows(weight.size(0), weight.size(1), weight.element_size());
  uh::parallel_for(0, (n + tile - 1) / tile, 1, [&](int64_t lo, int64_t hi) {
    const uh::AutoDispatchBelowAutograd below;
    const int64_t rows = std::min(tile, n - lo * tile);
    const Tensor gathered = uh::empty({rows, weight.size(0)}, weight.dtype());
    const Tensor product = uh::empty({rows, weight.size(1)}, weight.dtype());
    for (int64_t t = lo; t < hi; ++t) {
      const int64_t first = t * tile, count = std::min(tile, n - first);
      gather<T>(features, "in_rows", in_rows + first, count, gathered);
      if (count == rows)
        uh::mm_out(gathered, weight, product);
      else
        uh::mm_out(rows_of(gathered, 0, count), weight, rows_of(product, 0, count));
      scatter_add<T>(out, out_rows + first, count, product);
    }
  });
}

// Returns an offset that maps consecutive input rows to all output rows in order, or -1. The centre
// of a submanifold convolution does; its product initialises the result.
int64_t identity_offset(const RulebookView& rulebook, int64_t n_in, int64_t n_out) {
  for (int64_t k = 0; k < rulebook.offsets(); ++k) {
    const int64_t first = rulebook.first(k);
    const int64_t* in_rows = rulebook.in_rows() + first;
    const int64_t* out_rows = rulebook.out_rows() + first;
    if (n_out == 0 || rulebook.last(k) - first != n_out || out_rows[0] != 0 || in_rows[0] < 0 ||
        in_rows[0] + n_out > n_in)
      continue;
    if (is_consecutive(in_rows, n_out) && is_consecutive(out_rows, n_out)) return k;
  }
  return -1;
}

}  // namespace

Tensor gather_gemm_scatter_meta(const Tensor& features, const Tensor& weight, const Tensor&,
                                const Tensor&, const Tensor& starts, int64_t n_out) {
  check_product(features, weight, starts.numel() - 1, n_out);
  return features.new_empty({n_out, weight.size(2)});
}

Tensor gather_gemm_scatter(const Tensor& features, const Tensor& weight, const Tensor& in_rows,
                           const Tensor& out_rows, const Tensor& starts, int64_t n_out) {
  const RulebookView rulebook(in_rows, out_rows, starts);
  check_product(features, weight, rulebook.offsets(), n_out);
  const uh::AutoDispatchBelowAutograd below;
  const Tensor from = features.contiguous();
  const auto multiply =
      from.dtype() == uh::kFloat ? multiply_offset<float> : multiply_offset<double>;
  const int64_t identity = identity_offset(rulebook, from.size(0), n_out);
  const Tensor result =
      identity < 0 ? uh::zeros({n_out, weight.size(2)}, weight.dtype())
                   : uh::mm(rows_of(from, rulebook.in_rows()[rulebook.first(identity)], n_out),
                            uh::select(weight, 0, identity));
  for (int64_t k = 0; k < rulebook.offsets(); ++k) {
    const int64_t first = rulebook.first(k), n = rulebook.last(k) - first;
    if (n == 0 || k == identity) continue;
    multiply(from, uh::select(weight, 0, k).contiguous(), rulebook.in_rows() + first,
             rulebook.out_rows() + first, n, result);
  }
  return result;
}

namespace {
void check_gradient(const Tensor& features, const Tensor& grad) {
  check_floating("features", features, 2);
  check_floating("grad", grad, 2);
  check_same_dtype(features, "grad", grad);
}

template <class T>
Tensor weight_gradient_of(const Tensor& features, const Tensor& grad,
                          const RulebookView& rulebook) {
  const uh::AutoDispatchBelowAutograd below;
  const Tensor from = features.contiguous(), arrived = grad.contiguous();
  const int64_t in_channels = from.size(1), out_channels = arrived.size(1);
  const Tensor result =
      uh::zeros({rulebook.offsets(), in_channels, out_channels}, features.dtype());
  const int64_t tile = tile_rows(in_channels, out_channels, from.element_size());
  uh::parallel_for(0, rulebook.offsets(), 1, [&](int64_t lo, int64_t hi) {
    const uh::AutoDispatchBelowAutograd below_here;
    const Tensor inputs = uh::empty({tile, in_channels}, from.dtype());
    const Tensor gradients = uh::empty({tile, out_channels}, from.dtype());
    for (int64_t k = lo; k < hi; ++k) {
      const Tensor sum = uh::select(result, 0, k);
      for (int64_t first = rulebook.first(k); first < rulebook.last(k); first += tile) {
        const int64_t n = std::min(tile, rulebook.last(k) - first);
        gather<T>(from, "in_rows", rulebook.in_rows() + first, n, inputs);
        gather<T>(arrived, "out_rows", rulebook.out_rows() + first, n, gradients);
        uh::addmm_(sum, uh::t(rows_of(inputs, 0, n)), rows_of(gradients, 0, n));
      }
    }
  });
  return result;
}

}  // namespace

Tensor weight_gradient_meta(const Tensor& features, const Tensor& grad, const Tensor&,
                            const Tensor&, const Tensor& starts) {
  check_gradient(features, grad);
  return features.new_empty({starts.numel() - 1, features.size(1), grad.size(1)});
}

Tensor weight_gradient(const Tensor& features, const Tensor& grad, const Tensor& in_rows,
                       const Tensor& out_rows, const Tensor& starts) {
  const RulebookView rulebook(in_rows, out_rows, starts);
  check_gradient(features, grad);
  return features.dtype() == uh::kFloat ? weight_gradient_of<float>(features, grad, rulebook)
                                        : weight_gradient_of<double>(features, grad, rulebook);
}

namespace {

template <class T>
void keep_larger(const Tensor& features, const int64_t* in_rows, const int64_t* out_rows, int64_t n,
                 const Tensor& rows) {
  constexpr int64_t kGrainSize = 1024;  // pairs
  const int64_t channels = features.size(1);
  const T* values = features.data_ptr<T>();
  int64_t* best = rows.data_ptr<int64_t>();
  uh::parallel_for(0, n, kGrainSize, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      check_row("in_rows", in_rows[i], features.size(0));
      check_row("out_rows", out_rows[i], rows.size(0));
      int64_t* row = best + out_rows[i] * channels;
      const T* own = values + in_rows[i] * channels;
      for (int64_t c = 0; c < channels; ++c) {
        if (row[c] < 0) {
          row[c] = in_rows[i];
          continue;
        }
        const T largest = values[row[c] * channels + c];
        if (own[c] > largest || (std::isnan(own[c]) && !std::isnan(largest))) row[c] = in_rows[i];
      }
    }
  });
}

}  // namespace

Tensor max_pool_rows(const Tensor& features, const Tensor& in_rows, const Tensor& out_rows,
                     const Tensor& starts, int64_t n_out) {
  const RulebookView rulebook(in_rows, out_rows, starts);
  check_floating("features", features, 2);
  if (n_out < 0) reject("n_out must not be negative, got " + std::to_string(n_out));
  const uh::AutoDispatchBelowAutograd below;
  const Tensor from = features.contiguous();
  const Tensor rows = uh::full({n_out, from.size(1)}, -1, uh::kLong);
  const auto keep = from.dtype() == uh::kFloat ? keep_larger<float> : keep_larger<double>;
  for (int64_t k = 0; k < rulebook.offsets(); ++k)
    keep(from, rulebook.in_rows() + rulebook.first(k), rulebook.out_rows() + rulebook.first(k),
         rulebook.last(k) - rulebook.first(k), rows);
  const int64_t* row = rows.data_ptr<int64_t>();
  for (int64_t i = 0; i < rows.numel(); ++i)
    if (row[i] < 0) reject("output row " + std::to_string(i / from.size(1)) + " has no input row");
  return rows;
}

}  // namespace sparse_conv
