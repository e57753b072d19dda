// Iteration in tiles: see Note [Crossing operands] in tensor_iterator.h.
#include <algorithm>

#include "backend/cpu/copy_loops.h"
#include "backend/cpu/tensor_iterator.h"

namespace uh {
namespace {

// A tile has whole cache lines of the transposed operand, and is as wide as its buffer allows in
// L2: the other operands are read in runs, and each start of a run waits for memory.
constexpr int64_t kTileBytes = 65536;

struct Tile {
  int64_t rows, columns;
  explicit Tile(int64_t itemsize)
      : rows(std::max<int64_t>(16, 64 / itemsize)), columns(kTileBytes / (rows * itemsize)) {}
};

}  // namespace

// Returns whether an input steps by one element in `dim` and by several in the innermost dimension.
bool TensorIterator::crosses(size_t operand, size_t dim) const {
  const OperandAt& o = operands_[operand];
  return operand > 0 && o.itemsize > 0 && o.strides.back() > o.itemsize &&
         o.strides.back() % o.itemsize == 0 && o.strides[dim] == o.itemsize;
}

std::optional<size_t> TensorIterator::crossing() const {
  constexpr int64_t kMinTileLength = 16;  // elements: smaller tiles are not worth transposing
  if (sizes_.size() < 2 || sizes_.back() < kMinTileLength) return std::nullopt;
  if (operands_[0].strides.back() != operands_[0].itemsize) return std::nullopt;
  for (size_t k = 1; k < n_; ++k) {
    for (size_t d = 0; d + 1 < sizes_.size(); ++d) {
      if (sizes_[d] >= kMinTileLength && crosses(k, d)) return d;
    }
  }
  return std::nullopt;
}

void TensorIterator::tiles(size_t across, RowFn row, const void* body) const {
  const size_t last = sizes_.size() - 1;
  int64_t widest = 1;
  for (size_t k = 1; k < n_; ++k) {
    if (crosses(k, across)) widest = std::max(widest, operands_[k].itemsize);
  }
  const Tile tile(widest);
  const int64_t bands = (sizes_[across] + tile.rows - 1) / tile.rows;
  int64_t others = 1;
  for (size_t d = 0; d < last; ++d) others *= d == across ? 1 : sizes_[d];
  const int64_t elements = sizes_.back() * std::min(sizes_[across], tile.rows);
  const int64_t grain = std::max<int64_t>(kGrainSize / elements, 1);
  if (events::on()) [[unlikely]]
    record_iteration(ranges_of(others * bands, grain), "transposed in tiles");
  parallel_for(0, others * bands, grain, [&](int64_t lo, int64_t hi) {
    alignas(64) std::array<std::array<std::byte, kTileBytes>, kMaxOperands - 1> buffers;
    for (int64_t band = lo; band < hi; ++band) {
      std::array<char*, kMaxOperands> base{};
      for (size_t k = 0; k < n_; ++k) base[k] = operands_[k].data;
      int64_t remainder = band / bands;
      for (size_t d = last; d-- > 0;) {
        if (d == across) continue;
        for (size_t k = 0; k < n_; ++k) base[k] += remainder % sizes_[d] * operands_[k].strides[d];
        remainder /= sizes_[d];
      }
      const int64_t first = band % bands * tile.rows;
      const int64_t rows = std::min(tile.rows, sizes_[across] - first);
      for (size_t k = 0; k < n_; ++k) base[k] += first * operands_[k].strides[across];
      for (int64_t column = 0; column < sizes_.back(); column += tile.columns) {
        const int64_t columns = std::min(tile.columns, sizes_.back() - column);
        std::array<char*, kMaxOperands> data{};
        std::array<int64_t, kMaxOperands> step{}, stride{};
        for (size_t k = 0; k < n_; ++k) {
          const OperandAt& o = operands_[k];
          data[k] = base[k] + column * o.strides.back();
          step[k] = o.strides[across];
          stride[k] = o.strides.back();
          if (!crosses(k, across)) continue;
          auto* turned = reinterpret_cast<char*>(buffers[k - 1].data());
          copy_loops().transpose[size_class(o.itemsize)](
              turned, columns, data[k], o.strides.back() / o.itemsize, columns, rows);
          data[k] = turned;
          step[k] = columns * o.itemsize;
          stride[k] = o.itemsize;
        }
        for (int64_t r = 0; r < rows; ++r) {
          row(body, data.data(), stride.data(), columns);
          for (size_t k = 0; k < n_; ++k) data[k] += step[k];
        }
      }
    }
  });
}

}  // namespace uh
