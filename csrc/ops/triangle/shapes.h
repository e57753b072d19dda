// Shape rules of triangle.yaml, and the triangle of a matrix.
#pragma once

#include <algorithm>
#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Columns [first(i), last(i)) of each row of a matrix.
struct Triangle {
  bool lower;
  int64_t rows, columns, offset;

  // i + offset (+ 1), clamped to [0, columns] without overflow.
  int64_t edge(int64_t row) const {
    const int64_t beyond = lower ? 1 : 0;
    if (offset > columns) return columns;
    if (offset < -rows - 1) return 0;
    return std::clamp<int64_t>(row + offset + beyond, 0, columns);
  }
  int64_t first(int64_t row) const { return lower ? 0 : edge(row); }
  int64_t last(int64_t row) const { return lower ? edge(row) : columns; }
  // The rows [slanted(), level()) are crossed by the edge; others are empty or full.
  int64_t slanted() const { return columns > 0 ? row_at(1) : 0; }
  int64_t level() const { return columns > 0 ? row_at(columns) : 0; }

 private:
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

}  // namespace uh

namespace uh::shapes {

// Allocates (2, n): the row and the column of each of the triangle's n elements.
Tensor triangle_indices(std::string_view op, bool lower, int64_t rows, int64_t columns,
                        int64_t offset, DType dtype, Device device);

}  // namespace uh::shapes
