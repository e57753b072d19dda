// The iteration space of a pointwise operator: broadcast, reordered, collapsed.
//
// Dimensions are sorted so that the smallest strides are innermost; neighbours with consistent
// strides in all operands are merged. A contiguous operator of any rank becomes one long row.
// Invariant: all operands visit their elements in the same logical order; strides are in bytes.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "base/parallel.h"
#include "tensor/tensor.h"

namespace uh {

class TensorIterator {
 public:
  static constexpr size_t kMaxOperands = 4;

  explicit TensorIterator(IntSpan sizes) : sizes_(sizes) {}

  // Adds an operand that broadcasts to the space; the output comes first.
  void add(const Tensor& t) { add(t.data(), t.sizes(), t.strides(), itemsize(t.dtype())); }
  void add(std::byte* data, IntSpan sizes, IntSpan strides, int64_t width);
  // Adds a single value, used for every element.
  void add_value(void* value);

  // Returns the dimension order, outermost first, that the operands' strides suggest. Called before
  // the output exists, so that the output gets the same order.
  Dims order() const;
  void reorder(const Dims& order);
  void collapse();

  // Calls row(data, strides, n) for each row, on several threads if there is enough work.
  template <class Row>
  void for_each(const Row& row) const {
    int64_t rows = 1;
    for (size_t d = 0; d + 1 < sizes_.size(); ++d) rows *= sizes_[d];
    const int64_t inner = sizes_.empty() ? 1 : sizes_.back();
    if (rows == 0 || inner == 0) return;
    if (rows == 1) {
      if (events::on()) [[unlikely]]
        record_iteration(ranges_of(inner, kGrainSize));
      return one_row(row, inner);
    }
    if (const std::optional<size_t> across = crossing()) {
      return tiles(
          *across,
          [](const void* body, char* const* data, const int64_t* strides, int64_t n) {
            (*static_cast<const Row*>(body))(data, strides, n);
          },
          &row);
    }
    if (events::on()) [[unlikely]]
      record_iteration(ranges_of(rows, grain_of(inner)));
    parallel_for(0, rows, grain_of(inner),
                 [&](int64_t lo, int64_t hi) { some_rows(row, inner, lo, hi); });
  }

 private:
  static constexpr int64_t kGrainSize = 32768;  // elements: below this a second thread does not pay

  static int64_t grain_of(int64_t inner) { return kGrainSize / inner > 1 ? kGrainSize / inner : 1; }

  struct OperandAt {
    char* data = nullptr;
    Dims strides;
    int64_t itemsize = 0;  // 0: a single value
  };

  // Records the plan: the iteration space, and `loop` unless its name follows from it.
  void record_iteration(int64_t threads, std::string_view loop = {}) const;

  // Note [Crossing operands]: x + y.t() reads y against its memory order. If an input has unit
  // stride in a dimension other than the innermost, both dimensions are iterated over in tiles:
  // each tile is transposed into a buffer that fits L2, from which the loop reads densely.
  using RowFn = void (*)(const void* body, char* const* data, const int64_t* strides, int64_t n);
  std::optional<size_t> crossing() const;
  bool crosses(size_t operand, size_t dim) const;
  void tiles(size_t across, RowFn row, const void* body) const;

  template <class Row>
  void one_row(const Row& row, int64_t inner) const {
    std::array<int64_t, kMaxOperands> strides{};
    for (size_t k = 0; k < n_; ++k) strides[k] = sizes_.empty() ? 0 : operands_[k].strides.back();
    parallel_for(0, inner, kGrainSize, [&](int64_t lo, int64_t hi) {
      std::array<char*, kMaxOperands> data{};
      for (size_t k = 0; k < n_; ++k) data[k] = operands_[k].data + lo * strides[k];
      row(data.data(), strides.data(), hi - lo);
    });
  }

  template <class Row>
  void some_rows(const Row& row, int64_t inner, int64_t lo, int64_t hi) const {
    const size_t outer = sizes_.size() - 1;
    Dims index(outer);
    int64_t remainder = lo;
    for (size_t d = outer; d-- > 0;) {
      index[d] = remainder % sizes_[d];
      remainder /= sizes_[d];
    }
    std::array<char*, kMaxOperands> data{};
    std::array<int64_t, kMaxOperands> strides{};
    for (size_t k = 0; k < n_; ++k) {
      data[k] = operands_[k].data;
      strides[k] = operands_[k].strides.back();
      for (size_t d = 0; d < outer; ++d) data[k] += index[d] * operands_[k].strides[d];
    }
    for (int64_t r = lo; r < hi; ++r) {
      row(data.data(), strides.data(), inner);
      for (size_t d = outer; d-- > 0;) {  // odometer
        const bool carry = ++index[d] == sizes_[d];
        const int64_t back = carry ? sizes_[d] : 0;
        for (size_t k = 0; k < n_; ++k) data[k] += (1 - back) * operands_[k].strides[d];
        if (!carry) break;
        index[d] = 0;
      }
    }
  }

  Dims sizes_;
  std::array<OperandAt, kMaxOperands> operands_;
  size_t n_ = 0;
};

}  // namespace uh
