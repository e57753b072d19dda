#include "backend/cpu/scatter/scatter_indices.h"

#include <limits>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/scatter_loops.h"

namespace uh {
namespace {

// Returns the identity of an operation.
Scalar neutral(DType dtype, Fused op) {
  if (op == Fused::kSum || op == Fused::kMean) return Scalar(0);
  if (op == Fused::kProd) return Scalar(1);
  const bool max = op == Fused::kMax;
  if (is_floating(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return Scalar(max ? -infinity : infinity);
  }
  return visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      return Scalar(static_cast<int64_t>(max ? Limits::min() : Limits::max()));
    }
    return Scalar(0);
  });
}

}  // namespace

void assign_places(const Tensor& self, const IndexWalk& walk, const std::byte* src) {
  const int64_t item = itemsize(self.dtype());
  const ScatterLoops::Assign assign = scatter_loops().assign[size_class(item)];
  for_written_rows(
      walk, [&](const IndexRow& row, int64_t from, int64_t to, int64_t from_step, int64_t to_step) {
        assign(self.data() + to * item, to_step, src + from * item, from_step, row);
      });
}

void fold_places(const Tensor& self, const IndexWalk& walk, const std::byte* src, Fused op,
                 const Scalar& alpha) {
  const ScatterLoops& loops = scatter_loops();
  const ScatterLoops::Fold* folds = op == Fused::kMax    ? loops.max
                                    : op == Fused::kMin  ? loops.min
                                    : op == Fused::kProd ? loops.prod
                                                         : loops.sum;
  const ScatterLoops::Fold fold = folds[static_cast<int>(self.dtype())];
  check(fold, "a maximum or minimum of ", name(self.dtype()), " is not defined");
  const int64_t item = itemsize(self.dtype());
  visit_any(self.dtype(), [&](auto zero) {
    using Sum = SumOf<decltype(zero)>;
    Sum scale;
    if constexpr (std::is_same_v<Sum, bool>)
      scale = alpha.to_bool();
    else if constexpr (std::is_integral_v<Sum>)
      scale = static_cast<Sum>(alpha.to_int());
    else
      scale = alpha.to<Sum>();
    const bool scaled = !(scale == Sum(1));
    for_written_rows(walk, [&](const IndexRow& row, int64_t from, int64_t to, int64_t from_step,
                               int64_t to_step) {
      fold(self.data() + to * item, to_step, src + from * item, from_step, row,
           scaled ? &scale : nullptr);
    });
  });
}

void forget_places(const Tensor& self, const IndexWalk& walk, Fused op) {
  IndexWalk constant = walk;
  constant.dense = Dims(walk.dense.size(), 0);
  const ElementBytes value = element_bytes(neutral(self.dtype(), op), self.dtype());
  assign_places(self, constant, value.data());
}

void divide_by_hits(const Tensor& self, const IndexWalk& walk, bool include_self) {
  const Tensor hits = empty(self.sizes(), DType::kInt64);
  fill_elements(hits, element_bytes(Scalar(include_self ? 1 : 0), DType::kInt64));
  IndexWalk count = walk;
  count.dense = Dims(walk.dense.size(), 0);
  count.table = hits.strides();
  count.table.resize(count.sizes.size(), 0);
  if (self.ndim()) {
    const auto dim = static_cast<size_t>(walk.dim);
    count.along = hits.strides()[dim];
    count.table[dim] = 0;
  }
  const ElementBytes one = element_bytes(Scalar(1), DType::kInt64);
  fold_places(hits, count, one.data(), Fused::kSum, Scalar(1));
  const auto g = make_geometry<2>(self.sizes(), {self.strides(), hits.strides()});
  visit(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_rows(g, 0, g.rows(), [&](const auto& at) {
      T* x = self.data_as<T>() + at[0];
      const int64_t* n = hits.data_as<int64_t>() + at[1];
      for (int64_t j = 0; j < g.row(); ++j, x += g.row_stride(0), n += g.row_stride(1)) {
        if (*n <= 1) continue;
        if constexpr (std::is_same_v<T, bool>) {
          continue;
        } else if constexpr (std::is_integral_v<T>) {
          const int64_t value = *x, quotient = value / *n;
          *x = static_cast<T>(quotient - (value % *n < 0));
        } else {
          *x = static_cast<T>(static_cast<SumOf<T>>(*x) / static_cast<SumOf<T>>(*n));
        }
      }
    });
  });
}

}  // namespace uh
