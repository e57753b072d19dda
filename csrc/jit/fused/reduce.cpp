// The reductions at the end of a program: folds each tile while it is in the cache.
//
// Invariant: the space is split into units of rows, or of a fixed number of elements of one row,
// with separate accumulators: results do not depend on the number of threads.
#include <algorithm>
#include <cstring>

#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "jit/fused/tile_loop.h"

namespace uh::jit::fused {
namespace {

constexpr int64_t kUnit = 32768;  // elements

// The space as seen by the results: `rows` of them, each over `length` consecutive elements.
struct Rows {
  int64_t rows, length, blocks;

  Rows(const FusedKernel& program, const Dims& sizes) {
    const size_t outer = outer_dims(program, sizes);
    rows = numel_of(IntSpan(sizes.data(), outer));
    length = numel_of(IntSpan(sizes.data() + outer, sizes.size() - outer));
    blocks = std::max<int64_t>(1, (length + kUnit - 1) / kUnit);
  }
  static size_t outer_dims(const FusedKernel& program, const Dims& sizes) {
    if (program.reduced_dims == Builder::kAllDims) return 0;
    return sizes.size() - std::min(sizes.size(), static_cast<size_t>(program.reduced_dims));
  }
  int64_t rows_per_unit() const { return std::max<int64_t>(1, kUnit / std::max(length, kOne)); }
  int64_t units() const {
    return blocks > 1 ? rows * blocks : (rows + rows_per_unit() - 1) / rows_per_unit();
  }
  int64_t begin(int64_t unit) const {
    if (blocks == 1) return std::min(unit * rows_per_unit(), rows) * length;
    return unit / blocks * length + unit % blocks * kUnit;
  }
  int64_t end(int64_t unit) const {
    if (blocks == 1) return begin(unit + 1);
    return std::min(begin(unit) + kUnit, (unit / blocks + 1) * length);
  }
  static constexpr int64_t kOne = 1;
};

struct Accumulators {
  const Output& output;
  int64_t item;                   // size of an element
  std::vector<std::byte> values;  // [row][block]
};

// Folds n elements from `position` on into the accumulators of their rows.
void fold_tile(Accumulators& acc, const Rows& rows, const std::byte* data, int64_t position,
               int64_t n, int64_t unit) {
  const Fold& fold = *acc.output.fold;
  const int64_t item = acc.item;
  while (n > 0) {
    const int64_t row = position / rows.length;
    const int64_t count = std::min(n, (row + 1) * rows.length - position);
    const int64_t block = rows.blocks > 1 ? unit % rows.blocks : 0;
    fold.run(acc.values.data() + (row * rows.blocks + block) * fold.bytes, data, count);
    data += count * item;
    position += count;
    n -= count;
  }
}

}  // namespace

Tensor make_reduced(const FusedKernel& program, const Output& output, const Dims& sizes,
                    Device device) {
  const Rows rows(program, sizes);
  const FoldOperator& op = *output.reduction;
  check_kind(op.has_identity() || rows.length > 0 || rows.rows == 0, ErrorKind::kIndex, op.name,
             ": nothing to choose from: a reduced dimension has size 0, sizes ", sizes);
  const size_t outer = Rows::outer_dims(program, sizes);
  Dims result(IntSpan(sizes.data(), outer));
  if (output.keepdim) result.resize(sizes.size(), 1);
  return empty(result, output.dtype, device);
}

void run_reduced(const TileLoop& walk, const Dims& sizes, std::span<Tensor> outputs) {
  const Rows rows(walk.program, sizes);
  std::vector<Accumulators> all;
  std::vector<Tensor*> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = walk.program.outputs[i];
    if (!output.fold) continue;
    const int64_t n = rows.rows * rows.blocks;
    all.push_back({output, itemsize(walk.program.kind(output.item).dtype),
                   std::vector<std::byte>(static_cast<size_t>(n * output.fold->bytes))});
    output.fold->identity(all.back().values.data(), n);
    results.push_back(&outputs[i]);
  }
  const int64_t elements = walk.elements;
  const int64_t per_unit = elements / std::max<int64_t>(rows.units(), 1);
  const int64_t grain = std::max<int64_t>(1, walk.grain() / std::max<int64_t>(per_unit, 1));
  parallel_for(0, elements == 0 ? 0 : rows.units(), grain, [&](int64_t lo, int64_t hi) {
    alignas(64) std::byte arena[kArena];
    for (int64_t unit = lo; unit < hi; ++unit) {
      const int64_t end = rows.end(unit);
      Tiles tiles(walk, rows.begin(unit), arena);
      for (int64_t at = rows.begin(unit); at < end; at += walk.tile) {
        const int64_t n = std::min(walk.tile, end - at);
        std::array<const std::byte*, kMaxOutputs> data;
        for (size_t i = 0; i < all.size(); ++i) data[i] = tiles.data(all[i].output.item);
        tiles.run(n);
        for (size_t i = 0; i < all.size(); ++i) fold_tile(all[i], rows, data[i], at, n, unit);
      }
    }
  });
  for (size_t i = 0; i < all.size(); ++i) {
    const Output& output = all[i].output;
    const Fold& fold = *output.fold;
    std::byte* values = all[i].values.data();
    for (int64_t row = 0; row < rows.rows; ++row) {
      std::byte* first = values + row * rows.blocks * fold.bytes;
      for (int64_t b = 1; b < rows.blocks; ++b) fold.merge(first, first + b * fold.bytes, 1);
      if (output.reduction->divided)
        *reinterpret_cast<double*>(first) /= static_cast<double>(rows.length);
      std::memmove(values + row * fold.bytes, first, static_cast<size_t>(fold.bytes));
    }
    cast_run(results[i]->data(), output.dtype, values, fold.accumulator, rows.rows);
  }
}

}  // namespace uh::jit::fused
