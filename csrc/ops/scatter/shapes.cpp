#include "ops/scatter/shapes.h"

#include "ops/copy/element.h"
#include "ops/index_checks.h"
#include "ops/overlap.h"
#include "ops/scatter/reduction.h"

namespace uh {
namespace {

Fused word(const std::string& reduce, std::string_view op, bool mean_and_extremes,
           std::string_view rule) {
  if (mean_and_extremes) {
    if (reduce == "prod") return Fused::kProd;
    if (reduce == "mean") return Fused::kMean;
    if (reduce == "amax") return Fused::kMax;
    if (reduce == "amin") return Fused::kMin;
  }
  fail(ErrorKind::kRuntime, op, "(): reduce argument must be ", rule, ", got '", reduce, "'");
}

}  // namespace

Fused scatter_word(const std::string& reduce, std::string_view op) {
  if (reduce == "add") return Fused::kSum;
  if (reduce == "multiply") return Fused::kProd;
  return word(reduce, op, false, "either add or multiply");
}

Fused reduce_word(const std::string& reduce, std::string_view op) {
  if (reduce == "sum") return Fused::kSum;
  return word(reduce, op, true, "sum, prod, mean, amax or amin");
}

Fused index_word(const std::string& reduce, std::string_view op) {
  return word(reduce, op, true, "prod, mean, amax or amin");
}

}  // namespace uh

namespace uh::shapes {
namespace {

// A tensor without dimensions counts as one of a single element.
int64_t rank(const Tensor& t) { return std::max<int64_t>(t.ndim(), 1); }
int64_t size_along(const Tensor& t, int64_t d) { return t.ndim() ? t.size(d) : 1; }

// PyTorch does not check the shape of an index without elements.
void check_shapes(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src,
                  std::string_view op) {
  if (index.numel() == 0) return;
  check_index_dtype(index, op);
  check(rank(index) == rank(self), op,
        "(): Index tensor must have the same number of dimensions as self tensor, got ",
        index.sizes(), " and ", self.sizes());
  for (int64_t d = 0; d < index.ndim() && self.ndim(); ++d) {
    check(d == dim || index.size(d) <= self.size(d), op, "(): Expected index ", index.sizes(),
          " to be no larger than self ", self.sizes(), " apart from dimension ", dim,
          ": dimension ", d, " is");
  }
  if (!src) return;
  for (int64_t d = 0; d < index.ndim() && src->ndim(); ++d) {
    check_kind(d < src->ndim(), ErrorKind::kIndex, op,
               "(): Dimension out of range (expected to be in range of [", -src->ndim(), ", ",
               src->ndim() - 1, "], but got ", d, ")");
    if (index.size(d) > src->size(d)) break;
  }
  check(rank(index) == rank(*src), op,
        "(): Index tensor must have the same number of dimensions as src tensor, got ",
        index.sizes(), " and ", src->sizes());
  for (int64_t d = 0; d < rank(index); ++d) {
    check(size_along(index, d) <= size_along(*src, d), op, "(): Expected index ", index.sizes(),
          " to be no larger than src ", src->sizes(), ": dimension ", d, " is");
  }
}

void check_scatter(std::string_view op, const Tensor& self, int64_t dim, const Tensor& index,
                   const Tensor* src) {
  const int64_t d = wrap_dim(dim, self.ndim(), op);
  if (src) {
    check(self.dtype() == src->dtype(), op,
          "(): Expected self.dtype to be equal to src.dtype, got ", name(self.dtype()), " and ",
          name(src->dtype()));
  }
  check_shapes(self, d, index, src, op);
  check_no_internal_overlap(self, op);
  check_disjoint(self, index, op);
  if (src) check_disjoint(self, *src, op);
}

}  // namespace

void scatter(std::string_view op, const Tensor& self, int64_t dim, const Tensor& index,
             const Tensor& src) {
  check_scatter(op, self, dim, index, &src);
}

void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  if (!self.is_meta() && index.numel() > 0) check_fits(value, self.dtype());
  check_scatter("scatter", self, dim, index, nullptr);
}

void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    const std::string& reduce) {
  scatter_word(reduce, "scatter");
  check_scatter("scatter", self, dim, index, &src);
}

void scatter_value_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                          const std::string& reduce) {
  scatter_word(reduce, "scatter");
  scatter_value(self, dim, index, value);
}

void scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                        const std::string& reduce) {
  reduce_word(reduce, "scatter_reduce");
  check_scatter("scatter_reduce", self, dim, index, &src);
}

}  // namespace uh::shapes
