// The operators of triangle.yaml.
#include "generated/kernels/triangle.h"
#include "backend/cpu/copy/elements.h"

namespace uh::kernels {
namespace {

// A triangle of a matrix: columns [first(i), last(i)) of each row.
struct Triangle {
  int64_t rows, columns, offset;
  bool lower;

  // i + offset (+ 1), clamped to [0, columns] without overflow.
  int64_t edge(int64_t row) const {
    const int64_t beyond = lower ? 1 : 0;
    if (offset > columns) return columns;
    if (offset < -rows - 1) return 0;
    return std::clamp<int64_t>(row + offset + beyond, 0, columns);
  }
  int64_t first(int64_t row) const { return lower ? 0 : edge(row); }
  int64_t last(int64_t row) const { return lower ? edge(row) : columns; }
  // Returns the first row whose edge is at or after `column`.
  int64_t row_at(int64_t column) const {
    int64_t low = 0, high = rows;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (edge(middle) >= column)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }
};

Tensor indices(const Triangle& t, DType dtype, Device device, std::string_view op) {
  check(t.rows >= 0, op, ": row must be non-negative, got ", t.rows);
  check(t.columns >= 0, op, ": col must be non-negative, got ", t.columns);
  const DType kind = dtype == DType::kUndefined ? DType::kInt64 : dtype;
  check_kind(is_integral(kind), ErrorKind::kNotImplemented, "\"", op, "\" not implemented for '",
             info(kind).title, "'");
  checked_numel(Dims{2, t.rows, t.columns}, op);
  // Rows are empty or full except those that the edge crosses: only these are visited.
  const int64_t slant = t.columns > 0 ? t.row_at(1) : 0;
  const int64_t level = t.columns > 0 ? t.row_at(t.columns) : 0;
  int64_t n = (t.lower ? t.rows - level : slant) * t.columns;
  for (int64_t i = slant; i < level; ++i) n += t.last(i) - t.first(i);
  const Tensor result = empty(Dims{2, n}, DType::kInt64);
  auto *row = result.data_as<int64_t>(), *column = row + n;
  const int64_t begin = t.lower ? slant : 0, end = t.lower ? t.rows : level;
  for (int64_t i = begin; i < end && n > 0; ++i) {
    for (int64_t j = t.first(i); j < t.last(i); ++j) {
      *row++ = i;
      *column++ = j;
    }
  }
  const Device target = device == Device::kUndefined ? Device::kCPU : device;
  if (kind == DType::kInt64 && target == Device::kCPU) {
    record_write(result);
    return result;
  }
  Tensor out = empty(result.sizes(), kind, target);
  if (out.is_meta()) return out;
  copy_elements(out, result);
  record_write(out);
  return out;
}

}  // namespace

Tensor tril_indices(KeySet, int64_t row, int64_t col, int64_t offset, DType dtype, Device device) {
  return indices({row, col, offset, true}, dtype, device, "tril_indices");
}

Tensor triu_indices(KeySet, int64_t row, int64_t col, int64_t offset, DType dtype, Device device) {
  return indices({row, col, offset, false}, dtype, device, "triu_indices");
}

}  // namespace uh::kernels
