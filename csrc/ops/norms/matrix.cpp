// Norms of matrices, and linalg.norm, which selects a matrix or a vector norm.
#include <cmath>

#include "generated/kernels/norms.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/copy.h"
#include "generated/ops/decompose.h"
#include "generated/ops/norms.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "tensor/tensor.h"

namespace uh::kernels {
namespace {

constexpr std::string_view kName = "linalg.matrix_norm";

// Returns the two dimensions of the matrices as non-negative indices.
std::pair<int64_t, int64_t> matrix_dims(const Tensor& self, const Dims& dim) {
  check(self.ndim() >= 2, kName, ": The input tensor A must have at least 2 dimensions.");
  check(is_inexact(self.dtype()), kName,
        ": Expected a floating point or complex tensor as input. Got ", info(self.dtype()).title);
  check(dim.size() == 2, kName, ": dim must be a 2-tuple. Got ", dim);
  const int64_t rows = wrap_dim(dim[0], self.ndim(), kName);
  const int64_t columns = wrap_dim(dim[1], self.ndim(), kName);
  check(rows != columns, kName, ": dims must be different. Got (", dim[0], ", ", dim[1], ")");
  return {rows, columns};
}

// Returns the maximum or minimum along `dim`; 0 if the dimension is empty.
Tensor extreme(const Tensor& self, int64_t dim, bool keepdim, bool largest) {
  if (self.size(dim) == 0) return ops::sum(self, Dims{dim}, keepdim, DType::kUndefined);
  return largest ? ops::amax(self, Dims{dim}, keepdim) : ops::amin(self, Dims{dim}, keepdim);
}

Tensor converted(const Tensor& self, DType dtype) {
  if (dtype == DType::kUndefined || self.dtype() == dtype) return self;
  check(is_inexact(dtype), kName, ": dtype should be floating point or complex, but got ",
        info(dtype).title);
  check(is_complex(dtype) == is_complex(self.dtype()) && promote(self.dtype(), dtype) == dtype,
        kName, ": the dtype of the input (", info(self.dtype()).title,
        ") should be convertible without narrowing to the specified dtype (", info(dtype).title,
        ")");
  return ops::_to_copy(self, dtype, Device::kUndefined, MemoryFormat::kUndefined);
}

// Returns the sizes of the result with the two dimensions kept as size 1.
Tensor with_dims(const Tensor& self, int64_t rows, int64_t columns) {
  const Tensor first = ops::unsqueeze(self, std::min(rows, columns));
  return ops::unsqueeze(first, std::max(rows, columns));
}

void check_precision(const Tensor& self) {
  check(!is_reduced_floating(self.dtype()), kName, ": Low precision dtypes not supported. Got ",
        info(self.dtype()).title);
}

// Returns the singular values of the matrices along a new last dimension.
Tensor singular_values(const Tensor& self, int64_t rows, int64_t columns) {
  Dims order;
  for (int64_t d = 0; d < self.ndim(); ++d)
    if (d != rows && d != columns) order.push_back(d);
  order.push_back(rows);
  order.push_back(columns);
  return ops::linalg_svdvals(ops::permute(self, order), std::nullopt);
}

}  // namespace

Tensor linalg_matrix_norm(KeySet, const Tensor& self, const Scalar& ord, const Dims& dim,
                          bool keepdim, DType dtype) {
  auto [rows, columns] = matrix_dims(self, dim);
  check(!ord.is_complex(), kName, ": Order ", ord, " not supported.");
  const double order = ord.to_double(), size = std::abs(order);
  check(size == 1 || size == 2 || std::isinf(size), kName, ": Order ", ord, " not supported.");
  if (size == 2) check_precision(self);
  const Tensor x = converted(self, dtype);
  if (size == 2) {
    const Tensor values = singular_values(x, rows, columns);
    const Tensor out = extreme(values, values.ndim() - 1, false, order > 0);
    return keepdim ? with_dims(out, rows, columns) : out;
  }
  if (std::isinf(size)) std::swap(rows, columns);
  const Tensor sums = ops::linalg_vector_norm(x, Scalar(1), Dims{rows}, keepdim, DType::kUndefined);
  const int64_t left = columns - (!keepdim && columns > rows ? 1 : 0);
  return extreme(sums, left, keepdim, order > 0);
}

Tensor linalg_matrix_norm_named(KeySet, const Tensor& self, const std::string& ord, const Dims& dim,
                                bool keepdim, DType dtype) {
  const auto [rows, columns] = matrix_dims(self, dim);
  check(ord == "fro" || ord == "nuc", kName, ": Order ", ord, " not supported.");
  if (ord == "fro") return ops::linalg_vector_norm(self, Scalar(2), dim, keepdim, dtype);
  check_precision(self);
  const Tensor values = singular_values(converted(self, dtype), rows, columns);
  const Tensor out = ops::sum(values, Dims{-1}, false, DType::kUndefined);
  return keepdim ? with_dims(out, rows, columns) : out;
}

static void check_norm_dims(const Tensor& self, bool has_ord, const std::optional<Dims>& dim) {
  if (dim) {
    check(dim->size() == 1 || dim->size() == 2,
          "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  } else if (has_ord) {
    check(self.ndim() == 1 || self.ndim() == 2,
          "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
          self.ndim(), "D.");
  }
}

Tensor linalg_norm(KeySet, const Tensor& self, const std::optional<Scalar>& ord,
                   const std::optional<Dims>& dim, bool keepdim, DType dtype) {
  check_norm_dims(self, ord.has_value(), dim);
  if (ord && (dim ? dim->size() == 2 : self.ndim() == 2))
    return ops::linalg_matrix_norm(self, *ord, dim.value_or(Dims{0, 1}), keepdim, dtype);
  return ops::linalg_vector_norm(self, ord.value_or(Scalar(2)), dim, keepdim, dtype);
}

Tensor linalg_norm_named(KeySet, const Tensor& self, const std::string& ord,
                         const std::optional<Dims>& dim, bool keepdim, DType dtype) {
  check_norm_dims(self, true, dim);
  return ops::linalg_matrix_norm_str_ord(self, ord, dim.value_or(Dims{0, 1}), keepdim, dtype);
}

Tensor nuclear_norm(KeySet, const Tensor& self, bool keepdim) {
  return ops::linalg_matrix_norm_str_ord(self, "nuc", Dims{-2, -1}, keepdim, DType::kUndefined);
}
Tensor nuclear_norm_dim(KeySet, const Tensor& self, const Dims& dim, bool keepdim) {
  return ops::linalg_matrix_norm_str_ord(self, "nuc", dim, keepdim, DType::kUndefined);
}

}  // namespace uh::kernels
