// Norms of vectors: the shape rule, and the functions built on linalg_vector_norm.
#include <limits>

#include "generated/kernels/norms.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/norms.h"
#include "ops/copy/in_dtype.h"
#include "ops/norms/shapes.h"

namespace uh::shapes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the dtype that elements are converted to: it may be wider, but stays real or complex.
DType element_dtype(DType input, DType expected_dtype) {
  constexpr std::string_view kName = "linalg.vector_norm";
  if (expected_dtype == DType::kUndefined) return input;
  check(is_inexact(expected_dtype), kName, ": dtype should be floating point or complex, but got ",
        info(expected_dtype).title);
  check(is_complex(expected_dtype) == is_complex(input), kName, ": dtype should be ",
        is_complex(input) ? "complex" : "real", " for ", is_complex(input) ? "complex" : "real",
        " inputs, but got ", info(expected_dtype).title);
  check(promote(input, expected_dtype) == expected_dtype, kName, ": the dtype of the input (",
        info(input).title, ") should be convertible without narrowing to the specified dtype (",
        info(expected_dtype).title, ")");
  return expected_dtype;
}

void check_identity(const Tensor& self, const ReducedDims& dims, double ord, bool all_dims) {
  if (self.numel() != 0 || (ord >= 0 && ord != kInfinity)) return;
  check(!all_dims, "linalg.vector_norm cannot compute the ", ord,
        " norm on an empty tensor because the operation does not have an identity");
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    check(!dims.has(d) || self.sizes()[d] != 0, "linalg.vector_norm cannot compute the ", ord,
          " norm on the dimension ", d,
          " because this dimension is empty and the operation does not have an identity");
  }
}

}  // namespace

Tensor vector_norm(const Tensor& self, const Scalar& ord, const std::optional<Dims>& dim,
                   bool keepdim, DType dtype) {
  check(is_inexact(self.dtype()),
        "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
        info(self.dtype()).title);
  check(!ord.is_complex(),
        "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
  const DType element = element_dtype(self.dtype(), dtype);
  const ReducedDims dims(self, dim, "linalg.vector_norm");
  check_identity(self, dims, ord.to_double(), !dim || dim->empty());
  return empty(dims.result_sizes(self, keepdim), to_real(element), self.device());
}

}  // namespace uh::shapes

namespace uh::kernels {
namespace {

Tensor vector_norm(const Tensor& self, const Scalar& p, const Dims& dim, bool keepdim,
                   DType dtype) {
  return ops::linalg_vector_norm(self, p, dim, keepdim, dtype);
}

}  // namespace

Tensor norm_of_all(KeySet, const Tensor& self, const Scalar& p) {
  return vector_norm(self, p, {}, false, DType::kUndefined);
}
Tensor norm_dim(KeySet, const Tensor& self, const std::optional<Scalar>& p, const Dims& dim,
                bool keepdim) {
  return vector_norm(self, p.value_or(Scalar(2)), dim, keepdim, DType::kUndefined);
}
Tensor norm_dtype(KeySet, const Tensor& self, const std::optional<Scalar>& p, DType dtype) {
  return vector_norm(self, p.value_or(Scalar(2)), {}, false, dtype);
}
Tensor norm_dim_dtype(KeySet, const Tensor& self, const std::optional<Scalar>& p, const Dims& dim,
                      bool keepdim, DType dtype) {
  return vector_norm(self, p.value_or(Scalar(2)), dim, keepdim, dtype);
}

Tensor frobenius_norm(KeySet, const Tensor& self, const Dims& dim, bool keepdim) {
  check(dim.size() <= 2, "frobenius_norm: expected at most 2 dimensions, but got ", dim.size(),
        " dimensions instead, ", dim);
  return vector_norm(self, Scalar(2), dim, keepdim, DType::kUndefined);
}

Tensor dist(KeySet, const Tensor& self, const Tensor& other, const Scalar& p) {
  return vector_norm(ops::sub(self, other, Scalar(1)), p, {}, false, DType::kUndefined);
}

Tensor renorm(KeySet, const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  check(!p.is_complex(), "renorm: p must be real-valued, got ", p);
  check(p.to_double() > 0, "renorm: non-positive-norm not supported, got p = ", p);
  check(!maxnorm.is_complex(), "renorm: maxnorm must be real-valued, got ", maxnorm);
  check(maxnorm.to_double() >= 0, "renorm: expected maxnorm to be >= 0 but got ", maxnorm);
  check(self.ndim() > 1, "renorm: input needs at least 2 dimensions, got ", self.ndim(),
        " dimensions");
  const int64_t dimension = wrap_dim(dim, self.ndim(), "renorm");
  Dims others;
  for (int64_t d = 0; d < self.ndim(); ++d)
    if (d != dimension) others.push_back(d);
  const DType wide = is_reduced_floating(self.dtype()) ? DType::kFloat32 : DType::kUndefined;
  const Tensor norm = vector_norm(self, p, others, true, wide);
  const Tensor shrunk =
      ops::div(Scalar(maxnorm.to_double()), ops::add(norm, Scalar(1e-7), Scalar(1)));
  const Tensor factor = ops::where(ops::gt(norm, maxnorm), shrunk, Scalar(1.0));
  const Tensor scaled = ops::mul(self, in_dtype(factor, to_real(self.dtype())));
  return scaled.is_contiguous() ? scaled : ops::clone(scaled, MemoryFormat::kContiguous);
}

}  // namespace uh::kernels
