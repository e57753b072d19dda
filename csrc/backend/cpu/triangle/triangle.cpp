// The kernels of triangle.yaml.
#include "generated/kernels/triangle.h"
#include "backend/cpu/copy/elements.h"
#include "ops/triangle/shapes.h"

namespace uh::kernels {
namespace {

void write_indices(const Triangle& t, const Tensor& out) {
  const bool direct = out.dtype() == DType::kInt64;
  const Tensor result = direct ? out : empty(out.sizes(), DType::kInt64);
  const int64_t n = out.size(1);
  auto *row = result.data_as<int64_t>(), *column = row + n;
  const int64_t begin = t.lower ? t.slanted() : 0, end = t.lower ? t.rows : t.level();
  for (int64_t i = begin; i < end && n > 0; ++i) {
    for (int64_t j = t.first(i); j < t.last(i); ++j) {
      *row++ = i;
      *column++ = j;
    }
  }
  if (!direct) copy_elements(out, result);
}

}  // namespace

void tril_indices(int64_t row, int64_t col, int64_t offset, DType, Device, const Tensor& result) {
  write_indices({true, row, col, offset}, result);
}

void triu_indices(int64_t row, int64_t col, int64_t offset, DType, Device, const Tensor& result) {
  write_indices({false, row, col, offset}, result);
}

}  // namespace uh::kernels
