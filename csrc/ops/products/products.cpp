// Products composed of other operators.
#include <algorithm>
#include <limits>
#include <numeric>

#include "generated/kernels/products.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/join.h"
#include "generated/ops/linalg.h"
#include "generated/ops/products.h"
#include "generated/ops/reduce.h"
#include "generated/ops/scan.h"
#include "generated/ops/solve.h"
#include "generated/ops/view.h"
#include "ops/copy/any_device.h"
#include "ops/copy/in_dtype.h"
#include "ops/copy/write_out.h"
#include "ops/linalg/checks.h"
#include "ops/linalg/matrices.h"
#include "ops/overlap.h"

namespace uh::kernels {
namespace {

void check_vector(const Tensor& t, std::string_view op, std::string_view argument) {
  check(t.ndim() == 1, op, ": Expected 1-D argument ", argument, ", but got ", t.ndim(), "-D");
}

// Throws if an integral result gets a fractional factor, or a bool result a number.
void check_factor(const Scalar& factor, DType result, std::string_view op, std::string_view name) {
  check(is_inexact(result) || !(factor.is_float() || factor.is_complex()), op,
        ": For integral input tensors, argument ", name, " must not be a floating point number.");
  check(result == DType::kBool || factor.kind() != Scalar::Kind::kBool, op, ": Boolean ", name,
        " only supported for Boolean results.");
}

Dims joined(const Dims& a, const Dims& b) {
  Dims out = a;
  for (int64_t v : b) out.push_back(v);
  return out;
}

// Returns the dimensions not in `dims`, in order.
Dims others(const Tensor& t, const Dims& dims) {
  Dims out;
  for (int64_t d = 0; d < t.ndim(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) out.push_back(d);
  return out;
}

}  // namespace

Tensor addbmm(KeySet, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
              const Scalar& beta, const Scalar& alpha) {
  check_batches(batch1, batch2, "addbmm");
  check(batch1.size(0) == batch2.size(0),
        "addbmm: batch1 and batch2 must have same number of batches, got ", batch1.size(0), " and ",
        batch2.size(0));
  check(batch1.size(2) == batch2.size(1), "addbmm: Incompatible matrix sizes for bmm (",
        batch1.size(1), "x", batch1.size(2), " and ", batch2.size(1), "x", batch2.size(2), ")");
  const int64_t n = batch1.size(1), inner = batch1.size(0) * batch1.size(2), m = batch2.size(2);
  const Tensor rows = ops::reshape(ops::permute(batch1, {1, 0, 2}), {n, inner});
  return ops::addmm(self, rows, ops::reshape(batch2, {inner, m}), beta, alpha);
}

// PyTorch resizes an addend that broadcasts to the size of the result.
void addbmm_inplace(KeySet, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                    const Scalar& beta, const Scalar& alpha) {
  write_out(self, ops::addbmm(self, batch1, batch2, beta, alpha), "addbmm_");
}

Tensor addr(KeySet, const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  check_vector(vec1, "addr", "vec1");
  check_vector(vec2, "addr", "vec2");
  check_broadcasts_to(self.sizes(), Dims{vec1.size(0), vec2.size(0)}, "addr");
  const DType dtype = promote(promote(self.dtype(), vec1.dtype()), vec2.dtype());
  check_factor(beta, dtype, "addr", "beta");
  check_factor(alpha, dtype, "addr", "alpha");
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) {  // rounded only once
    const auto wide = [](const Tensor& t) { return in_dtype(t, DType::kFloat32); };
    return in_dtype(ops::addr(wide(self), wide(vec1), wide(vec2), beta, alpha), dtype);
  }
  if (dtype == DType::kBool) {
    const Tensor product = ops::outer(vec1, vec2);
    const Tensor scaled = alpha.to_bool() ? product
                                          : ops::zeros_like(product, dtype, Device::kUndefined,
                                                            MemoryFormat::kUndefined);
    return beta.to_bool() ? ops::logical_or(scaled, self) : scaled;
  }
  // With a `beta` of 0 only the order of the dimensions of `self` counts.
  const bool is_one = !beta.is_complex() && beta.to_double() == 1;
  const Tensor scaled = is_one           ? self
                        : beta.to_bool() ? ops::mul(self, beta)
                                         : ops::zeros_like(self, dtype, Device::kUndefined,
                                                           MemoryFormat::kUndefined);
  const Tensor row = vec2.is_contiguous() ? vec2 : dense_copy(vec2);  // it is read for every row
  return ops::addcmul(in_dtype(scaled, dtype), in_dtype(row, dtype),
                      in_dtype(ops::unsqueeze(vec1, 1), dtype), alpha);
}

Tensor outer(KeySet, const Tensor& self, const Tensor& vec2) {
  check_vector(self, "outer", "self");
  check_vector(vec2, "outer", "vec2");
  return ops::mul(ops::reshape(self, Dims{self.numel(), 1}), vec2);
}

Tensor inner(KeySet, const Tensor& self, const Tensor& other) {
  if (self.ndim() == 0 || other.ndim() == 0) return ops::mul(self, other);
  check(self.sizes().back() == other.sizes().back(),
        "inner: the last dimension must match on both input tensors but got shapes ", self.sizes(),
        " and ", other.sizes());
  return ops::tensordot(self, other, {-1}, {-1});
}

void inner_out(KeySet, const Tensor& self, const Tensor& other, const Tensor& out) {
  const Tensor result = ops::inner(self, other);
  if (self.ndim() > 0 && other.ndim() > 0) return write_exact_out(out, result, "inner");
  check_out_overlap(out, result.sizes(), self, false, "inner");
  check_out_overlap(out, result.sizes(), other, false, "inner");
  write_out(out, result, "inner");
}

Tensor trace(KeySet, const Tensor& self) {
  check_kind(self.dtype() != DType::kBool, ErrorKind::kNotImplemented,
             "\"trace\" not implemented for 'Bool'");
  check(self.ndim() == 2, "trace: expected a matrix, but got tensor with dim ", self.ndim());
  return ops::sum(ops::diagonal(self, 0, 0, 1), std::nullopt, false, DType::kUndefined);
}

namespace {
// True if rows, rows of rows... follow one another in memory, perhaps with gaps.
bool is_in_row_major_order(const Tensor& t) {
  int64_t outer = std::numeric_limits<int64_t>::max();
  for (size_t d = 0; d < t.sizes().size(); ++d) {
    if (t.sizes()[d] == 1) continue;
    if (t.strides()[d] >= outer || t.strides()[d] < 1) return false;
    outer = t.strides()[d];
  }
  return true;
}
}  // namespace

Tensor kron(KeySet, const Tensor& self, const Tensor& other) {
  const size_t rank = std::max(self.sizes().size(), other.sizes().size());
  Dims left(2 * rank, 1), right(2 * rank, 1), sizes(rank, 1);
  const size_t skip_left = rank - self.sizes().size(), skip_right = rank - other.sizes().size();
  for (size_t d = 0; d < rank; ++d) {
    if (d >= skip_left) left[2 * d] = self.sizes()[d - skip_left];
    if (d >= skip_right) right[2 * d + 1] = other.sizes()[d - skip_right];
  }
  for (size_t d = 0; d < rank; ++d)
    sizes[d] = checked_numel(Dims{left[2 * d], right[2 * d + 1]}, "kron");
  const Tensor a = ops::reshape(self, left), b = ops::reshape(other, right);
  constexpr int64_t kShort = 64;  // elements of a row
  const bool has_short_rows = rank > 0 && right.back() > 1 && right.back() < kShort;
  // Operands in row-major order only: repeating others would change the strides of the result.
  if (!has_short_rows || !is_in_row_major_order(a) || !is_in_row_major_order(b) ||
      may_need_gradient(self) || may_need_gradient(other))
    return ops::_unsafe_view(ops::mul(a, b), sizes);
  // Rows that are too short for a loop are first repeated to the length of the result's.
  const auto repeated = [&](const Tensor& t, Dims repeated_sizes) {
    repeated_sizes[2 * rank - 2] = left[2 * rank - 2];
    repeated_sizes[2 * rank - 1] = right.back();
    const Tensor rows = ops::expand(t, repeated_sizes, false);
    repeated_sizes.resize(2 * rank - 1);
    repeated_sizes[2 * rank - 2] = sizes.back();
    return ops::reshape(rows, repeated_sizes);
  };
  return ops::_unsafe_view(ops::mul(repeated(a, left), repeated(b, right)), sizes);
}

Tensor tensordot(KeySet, const Tensor& self, const Tensor& other, const Dims& dims_self,
                 const Dims& dims_other) {
  check(dims_self.size() == dims_other.size(),
        "tensordot: both dimension lists should have same length, got ", dims_self, " and ",
        dims_other);
  check(self.dtype() == other.dtype(), "tensordot: both inputs should have same dtype, got ",
        info(self.dtype()).title, " and ", info(other.dtype()).title);
  Tensor a = self, b = other;
  Dims in_a(dims_self.size()), in_b(dims_self.size());
  for (size_t i = 0; i < dims_self.size(); ++i) {
    in_a[i] = wrap_dim(dims_self[i], a.ndim(), "tensordot");
    in_b[i] = wrap_dim(dims_other[i], b.ndim(), "tensordot");
    for (const Dims* dims : {&in_a, &in_b})
      check(std::find(dims->begin(), dims->begin() + i, (*dims)[i]) == dims->begin() + i,
            "tensordot: a dimension is given twice: ", dims_self, ", ", dims_other);
    const int64_t size_a = a.size(in_a[i]), size_b = b.size(in_b[i]);
    // A dimension of size 1 broadcasts: the other operand is summed along it first.
    if (size_b == 1)
      a = ops::sum(a, Dims{in_a[i]}, true, a.dtype());
    else if (size_a == 1)
      b = ops::sum(b, Dims{in_b[i]}, true, b.dtype());
    else
      check(size_a == size_b, "tensordot: contracted dimensions need to match, but first has size ",
            size_a, " in dim ", in_a[i], " and second has size ", size_b, " in dim ", in_b[i]);
  }
  const Dims rest_a = others(a, in_a), rest_b = others(b, in_b);
  const Dims sizes_a = sizes_at(a, rest_a), sizes_b = sizes_at(b, rest_b);
  const int64_t n = numel_of(sizes_a), k = numel_of(sizes_at(a, in_a)), m = numel_of(sizes_b);
  const Tensor rows = ops::reshape(ops::permute(a, joined(rest_a, in_a)), {n, k});
  const Tensor columns = ops::reshape(ops::permute(b, joined(in_b, rest_b)), {k, m});
  return ops::reshape(ops::mm(rows, columns), joined(sizes_a, sizes_b));
}

namespace {

// Returns the cheapest order of a matrix chain: matrices i..j are split after split[i][j].
std::vector<std::vector<size_t>> cheapest_splits(const std::vector<Tensor>& chain) {
  const size_t n = chain.size();
  std::vector<double> edge;  // matrix i is edge[i] x edge[i + 1]
  for (const Tensor& t : chain) edge.push_back(static_cast<double>(t.size(0)));
  edge.push_back(static_cast<double>(chain.back().size(1)));
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> split(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length) {
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      for (size_t at = i; at < j; ++at) {
        const double result = cost[i][at] + cost[at + 1][j] + edge[i] * edge[at + 1] * edge[j + 1];
        if (at == i || result < cost[i][j]) {
          cost[i][j] = result;
          split[i][j] = at;
        }
      }
    }
  }
  return split;
}

Tensor multiply_chain(const std::vector<Tensor>& chain,
                      const std::vector<std::vector<size_t>>& split, size_t i, size_t j) {
  if (i == j) return chain[i];
  const size_t at = split[i][j];
  return ops::mm(multiply_chain(chain, split, i, at), multiply_chain(chain, split, at + 1, j));
}

}  // namespace

Tensor linalg_multi_dot(KeySet, const std::vector<Tensor>& tensors) {
  const size_t n = tensors.size();
  check(n >= 2, "multi_dot(): expected at least 2 tensors but got ", n);
  Dims sizes;
  std::vector<Tensor> chain = tensors;
  for (size_t i = 0; i < n; ++i) {
    const bool end = i == 0 || i == n - 1;
    check(tensors[i].ndim() == 2 || (end && tensors[i].ndim() == 1), "multi_dot(): tensor ", i,
          " must be ", end ? "1D or 2D" : "2D", " but got ", tensors[i].ndim(), "D");
    check(tensors[i].dtype() == tensors[0].dtype(),
          "multi_dot(): all tensors must have be the same dtype but tensor 0 is ",
          info(tensors[0].dtype()).title, " and tensor ", i, " is ",
          info(tensors[i].dtype()).title);
  }
  if (chain[0].ndim() == 1)
    chain[0] = ops::unsqueeze(chain[0], 0);
  else
    sizes.push_back(chain[0].size(0));
  if (chain[n - 1].ndim() == 1)
    chain[n - 1] = ops::unsqueeze(chain[n - 1], 1);
  else
    sizes.push_back(chain[n - 1].size(1));
  for (size_t i = 0; i + 1 < n; ++i)
    check(chain[i].size(1) == chain[i + 1].size(0), "multi_dot(): tensors ", i, " and ", i + 1,
          " with shapes ", tensors[i].sizes(), " and ", tensors[i + 1].sizes(),
          " cannot be multiplied");
  return ops::reshape(multiply_chain(chain, cheapest_splits(chain), 0, n - 1), sizes);
}

Tensor linalg_matrix_power(KeySet, const Tensor& self, int64_t n) {
  check_square(self, "linalg.matrix_power", "A");
  if (n == 0) {
    const Tensor identity =
        ops::eye(self.sizes().back(), std::nullopt, self.dtype(), self.device());
    // A copy is overwritten, so that the result depends on `self` with a zero gradient.
    const Tensor output = ops::clone(self, MemoryFormat::kContiguous);
    ops::copy_(output, ops::expand(identity, self.sizes(), false), false);
    return output;
  }
  if (n == 1) return ops::clone(self, MemoryFormat::kUndefined);
  if (n < 0) {
    check_lapack_dtype(self, "linalg.matrix_power", Lapack::kDtypes);
    if (n == -1) return ops::linalg_inv(self);
  }
  Tensor square = n < 0 ? ops::linalg_inv(self) : self, result;
  for (uint64_t left = n < 0 ? ~static_cast<uint64_t>(n) + 1 : static_cast<uint64_t>(n);;) {
    if (left & 1) result = result ? ops::matmul(result, square) : square;
    left >>= 1;
    if (left == 0) return result;
    square = ops::matmul(square, square);
  }
}

Tensor linalg_matmul(KeySet, const Tensor& self, const Tensor& other) {
  return ops::matmul(self, other);
}

Tensor linalg_vecdot(KeySet, const Tensor& x, const Tensor& y, int64_t dim) {
  check(is_inexact(x.dtype()),
        "linalg.vecdot: Expected a floating point or complex tensor as input."
        " Got ",
        info(x.dtype()).title);
  check(x.dtype() == y.dtype(),
        "linalg.vecdot: Expected x and y to have the same dtype, but found ", info(x.dtype()).title,
        " and ", info(y.dtype()).title);
  if (x.ndim() == 1 && y.ndim() == 1 && x.size(0) == y.size(0)) {
    wrap_dim(dim, 1, "linalg.vecdot");
    return ops::vdot(x, y);
  }
  const Dims sizes = broadcast_shapes(x.sizes(), y.sizes());
  const int64_t d = wrap_dim(dim, static_cast<int64_t>(sizes.size()), "linalg.vecdot");
  if (sizes.empty()) return ops::mul(ops::conj(x), y);
  const Tensor rows =
      ops::unsqueeze(ops::movedim(ops::expand(ops::conj(x), sizes, false), {d}, {-1}), -2);
  const Tensor columns = ops::unsqueeze(ops::movedim(ops::expand(y, sizes, false), {d}, {-1}), -1);
  return ops::squeeze(ops::matmul(rows, columns), Dims{-2, -1});
}

Tensor linalg_cross(KeySet, const Tensor& self, const Tensor& other, int64_t dim) {
  check(self.ndim() == other.ndim(),
        "linalg.cross: inputs must have the same number of dimensions, got ", self.ndim(), " and ",
        other.ndim());
  const int64_t d = wrap_dim(dim, self.ndim(), "linalg.cross");
  check(self.ndim() > 0 && self.size(d) == 3 && other.size(d) == 3,
        "linalg.cross: inputs dimension ", d, " must have length 3, got sizes ", self.sizes(),
        " and ", other.sizes());
  check_kind(self.dtype() != DType::kBool, ErrorKind::kNotImplemented,
             "\"cross\" not implemented for 'Bool'");
  check(self.dtype() == other.dtype(), "linalg.cross: expected scalar type ",
        info(self.dtype()).title, " but found ", info(other.dtype()).title);
  const auto part = [&](int64_t i, int64_t j) {
    return ops::mul(ops::select(self, d, i), ops::select(other, d, j));
  };
  const auto minus = [](const Tensor& a, const Tensor& b) { return ops::sub(a, b, Scalar(1)); };
  return ops::stack(
      {minus(part(1, 2), part(2, 1)), minus(part(2, 0), part(0, 2)), minus(part(0, 1), part(1, 0))},
      d);
}

Tensor cross(KeySet, const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  int64_t d = dim.value_or(0);
  if (!dim) {
    while (d < self.ndim() && self.size(d) != 3) ++d;
    check(d < self.ndim(), "cross: no dimension of size 3 in input, got sizes ", self.sizes());
  }
  return ops::linalg_cross(self, other, d);
}

Tensor linalg_vander(KeySet, const Tensor& x, std::optional<int64_t> count) {
  check(x.dtype() != DType::kBool, "linalg.vander: Not implemented for Bool");
  check(!is_reduced_floating(x.dtype()),
        "linalg.vander supports floating point, complex, and integer tensors, but got ",
        info(x.dtype()).title);
  const Tensor items = x.ndim() > 0 ? x : ops::unsqueeze(x, 0);
  const int64_t n = count.value_or(items.sizes().back());
  check(n > 1, "linalg.vander: N must be greater than 1, got ", n);
  const DType dtype = is_inexact(x.dtype()) ? x.dtype() : DType::kInt64;
  const Tensor base = in_dtype(items, dtype);
  const Tensor columns = ops::unsqueeze(base, -1);
  const Tensor ones = ops::ones_like(columns, dtype, Device::kUndefined, MemoryFormat::kUndefined);
  if (n < 2) return ones;
  Dims sizes = columns.sizes();
  sizes[sizes.size() - 1] = n - 1;
  const Tensor powers = ops::cumprod(ops::expand(columns, sizes, false), -1, DType::kUndefined);
  return ops::cat({ones, powers}, -1);
}

Tensor bilinear(KeySet, const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  check(input1.ndim() == input2.ndim() && input1.ndim() > 0,
        "bilinear(): input dimensions do not match: got ", input1.ndim(), " and ", input2.ndim());
  const size_t lead = input1.sizes().size() - 1;
  const Dims batch(IntSpan(input1.sizes().data(), lead));
  check(batch == Dims(IntSpan(input2.sizes().data(), lead)),
        "bilinear(): input batch dimensions do not match: got ", input1.sizes(), " and ",
        input2.sizes());
  check(weight.ndim() == 3, "bilinear(): weight must have three dimensions, got ", weight.sizes());
  const int64_t n = numel_of(batch), in1 = input1.sizes().back(), in2 = input2.sizes().back(),
                k = weight.size(0);
  check(in1 == weight.size(1), "bilinear(): input1 size does not match weight size: got ", in1,
        " but expected ", weight.size(1));
  check(in2 == weight.size(2), "bilinear(): input2 size does not match weight size: got ", in2,
        " but expected ", weight.size(2));
  check(!bias || bias.size(0) == k, "bilinear(): bias size does not match weight size: got ",
        bias ? bias.numel() : 0, " but expected ", k);
  const Tensor between = ops::reshape(ops::permute(weight, {1, 0, 2}), {in1, k * in2});
  const Tensor left = ops::reshape(ops::mm(ops::reshape(input1, {n, in1}), between), {n, k, in2});
  const Tensor result = ops::bmm(left, ops::reshape(input2, {n, in2, 1}));
  const Tensor out = ops::reshape(result, joined(batch, {k}));
  return bias ? ops::add(out, bias, Scalar(1)) : out;
}

}  // namespace uh::kernels
