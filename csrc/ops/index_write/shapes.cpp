#include "ops/index_write/shapes.h"

#include <algorithm>

#include "ops/index_checks.h"
#include "ops/overlap.h"
#include "ops/scatter/reduction.h"

namespace uh::shapes {
namespace {

// Checks the arguments of index_add and index_reduce.
void check_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                  std::string_view op) {
  const int64_t d = wrap_dim(dim, self.ndim(), op), n = index.numel();
  check_kind(index.ndim() <= 1, ErrorKind::kIndex, op,
             "(): Index is supposed to be a vector, but got dim: ", index.ndim(), " with sizes ",
             index.sizes());
  check_index_dtype(index, op);
  check(self.dtype() == source.dtype(), op,
        "(): self and source must have the same scalar type, got ", name(self.dtype()), " and ",
        name(source.dtype()));
  check(d == 0 || d < source.ndim(), op, "(): Indexing dim ", d,
        " is out of bounds of the source tensor with dim ", source.ndim());
  check_kind(n == 1 || source.ndim() > 0, ErrorKind::kIndex, "Dimension specified as ", d,
             " but tensor has no dimensions");
  check(n == (source.ndim() ? source.size(d) : 1), op, "(): Number of indices (", n,
        ") should be equal to source.size(dim): ", source.sizes(), " at dim ", d);
  bool fits = source.ndim() == self.ndim();
  for (int64_t k = 0; fits && k < self.ndim(); ++k) fits = k == d || self.size(k) == source.size(k);
  check(fits,
        "source tensor shape must match self tensor shape, excluding the specified dimension. "
        "Got self.shape = ",
        self.sizes(), " source.shape = ", source.sizes());
}

void check_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const char* op = "index_copy";
  const int64_t d = wrap_dim(dim, self.ndim(), op), n = index.numel();
  check_index_overlap(self, index, source, op);
  check_kind(index.ndim() < 2, ErrorKind::kIndex, op,
             "(): Index should have dimension 1 or 0 (got ", index.ndim(), ")");
  check_kind(source.ndim() > 0 || n == 1, ErrorKind::kIndex, op,
             "(): When source is scalar, index should have one element (got ", n, ")");
  check_kind(source.ndim() == self.ndim() || source.ndim() == 0 || self.ndim() == 0,
             ErrorKind::kIndex, op,
             "(): When source and destination are not scalars, their dimensionality must match. "
             "Source dimensionality (",
             source.ndim(), "), destination dimensionality (", self.ndim(), ")");
  check(index.dtype() == DType::kInt64, op, "(): Expected a long tensor for index, but got ",
        name(index.dtype()));
  check(self.dtype() == source.dtype(), op,
        "(): self and source expected to have the same dtype, but got (self) ", name(self.dtype()),
        " and (source) ", name(source.dtype()));
  bool fits = true;
  for (int64_t k = 0; k < std::max(self.ndim(), source.ndim()); ++k) {
    if (k == d) continue;
    fits = fits && k < self.ndim() && k < source.ndim() && self.size(k) == source.size(k);
  }
  check(fits, op, "(): Source/destination tensor must have same slice shapes. Destination ",
        self.sizes(), " and source ", source.sizes(), " at dimension ", d);
  check_kind(source.ndim() == 0 || n == source.size(d), ErrorKind::kIndex, op,
             "(): Number of indices (", n,
             ") should be equal to source.size(dim): ", source.sizes(), " at dim ", d);
}

void check_fill(const Tensor& self, int64_t dim, const Tensor& index, bool complex_value) {
  wrap_dim(dim, self.ndim(), "index_fill");
  check_kind(index.dtype() == DType::kInt64, ErrorKind::kIndex,
             "index_fill(): Expected dtype int64 for index, got ", name(index.dtype()));
  check(index.ndim() <= 1, "Index has to be a vector/scalar, got sizes ", index.sizes());
  check(is_complex(self.dtype()) || !complex_value,
        "index_fill(): Converting complex Scalar to non-complex type is not supported");
}

void check_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  check(value.ndim() == 0,
        "index_fill: only supports a 0-dimensional value tensor, but got tensor with ",
        value.ndim(), " dimension(s): ", value.sizes());
  check_fill(self, dim, index, is_complex(value.dtype()));
}

void check_put(const Tensor& self, const Tensor& index, const Tensor& source) {
  check(index.dtype() == DType::kInt64, "put_(): Expected a long tensor for index, but got ",
        name(index.dtype()));
  check(self.dtype() == source.dtype(),
        "put_(): self and source expected to have the same dtype, but got self.dtype = ",
        name(self.dtype()), " and source.dtype = ", name(source.dtype()));
  check_kind(index.numel() == source.numel(), ErrorKind::kIndex,
             "put_(): Expected source and index to have the same number of elements, but got "
             "source.numel() = ",
             source.numel(), ", index.numel() = ", index.numel());
  check_kind(self.numel() > 0 || index.numel() == 0, ErrorKind::kIndex,
             "put_(): Tried to put elements into an empty tensor");
}

// Checks that alpha converts to the dtype of the sum, as PyTorch does.
void check_alpha(DType dtype, const Scalar& alpha) {
  check(dtype == DType::kBool || alpha.kind() != Scalar::Kind::kBool,
        "index_add: Boolean alpha only supported for Boolean results.");
  check(is_inexact(dtype) || !(alpha.is_float() || alpha.is_complex()),
        "index_add: For integral input tensors, argument alpha must not be a floating point "
        "number.");
  check(is_complex(dtype) || !alpha.is_complex(),
        "index_add: For non-complex input tensors, argument alpha must not be a complex number.");
}

}  // namespace

void index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha) {
  check_add(self, dim, index, source, "index_add");
  check_alpha(self.dtype(), alpha);
  check_index_overlap(self, index, source, "index_add");
}

void index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check_copy(self, dim, index, source);
}

void index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                  const std::string& reduce) {
  index_word(reduce, "index_reduce");
  check_add(self, dim, index, source, "index_reduce");
  check_index_overlap(self, index, source, "index_reduce");
}

void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  check_fill(self, dim, index, value.is_complex());
  check_no_overlap(self, index, "index_fill");
}
void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  check_fill(self, dim, index, value);
  check_no_overlap(self, index, "index_fill");
}
Tensor index_filled(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  check_fill(self, dim, index, value.is_complex());
  return empty_like(self, self.dtype());
}
Tensor index_filled(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  check_fill(self, dim, index, value);
  return empty_like(self, self.dtype());
}

void put(const Tensor& self, const Tensor& index, const Tensor& source) {
  check_put(self, index, source);
  check_index_overlap(self, index, source, "put_");
}
Tensor put_result(const Tensor& self, const Tensor& index, const Tensor& source) {
  check_put(self, index, source);
  return empty_like(self, self.dtype());
}

}  // namespace uh::shapes
