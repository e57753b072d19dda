#include "ops/triangle/shapes.h"

#include "ops/creation/options.h"

namespace uh::shapes {

Tensor triangle_indices(std::string_view op, bool lower, int64_t rows, int64_t columns,
                        int64_t offset, DType dtype, Device device) {
  check(rows >= 0, op, ": row must be non-negative, got ", rows);
  check(columns >= 0, op, ": col must be non-negative, got ", columns);
  const DType target = dtype == DType::kUndefined ? DType::kInt64 : dtype;
  check_kind(is_integral(target), ErrorKind::kNotImplemented, "\"", op, "\" not implemented for '",
             info(target).title, "'");
  checked_numel(Dims{2, rows, columns}, op);
  const Triangle t{lower, rows, columns, offset};
  const int64_t slanted = t.slanted(), level = t.level();
  int64_t n = (lower ? rows - level : slanted) * columns;
  for (int64_t i = slanted; i < level; ++i) n += t.last(i) - t.first(i);
  return empty(Dims{2, n}, target, or_cpu(device));
}

}  // namespace uh::shapes
