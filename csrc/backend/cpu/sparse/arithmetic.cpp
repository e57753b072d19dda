// Sums, differences, products and quotients with sparse operands.
#include <algorithm>

#include "backend/cpu/sparse/operators.h"
#include "backend/cpu/sparse/parts.h"
#include "base/parallel.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/copy.h"
#include "generated/ops/norms.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"

namespace uh::sparse {
namespace {

const Tensor& values_of(const Tensor& t) { return t.impl()->sparse()->values; }

// Returns whether an operand is a number or a strided 0-d tensor.
bool is_number(const Operand& operand) {
  return operand.is_number() || (!operand.tensor.is_sparse() && operand.tensor.ndim() == 0);
}
Operand negated(const Scalar& number) {
  if (number.is_complex()) {
    const Complex128 z = number.to_complex();
    return Scalar(Complex128(-z.re, -z.im));
  }
  return number.is_float() ? Scalar(-number.to_double()) : Scalar(-number.to_int());
}

// Adds alpha * value at the index of each value.
void add_values(const Tensor& dense, const Tensor& sparse, const Scalar& alpha,
                std::string_view op) {
  check(dense.sizes() == sparse.sizes(), op,
        ": expected 'self' and 'other' to have same size, but self has size ", dense.sizes(),
        " while other has size ", sparse.sizes(),
        " (FYI: op2-sparse addition does not currently support broadcasting)");
  const Checked coo = checked(coo_of(sparse));
  const std::vector<int64_t> numbers = place_numbers(coo);
  const Tensor values = plain(coo.values, dense.dtype());
  const bool in_place = dense.is_contiguous();
  const Tensor to = in_place ? dense : plain(dense);
  const int64_t block = coo.block();
  visit_any(dense.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T factor = alpha.to<T>();
    const T* from = values.data_as<T>();
    T* out = to.data_as<T>();
    for (size_t i = 0; i < numbers.size(); ++i) {
      T* row = out + numbers[i] * block;
      const T* value = from + static_cast<int64_t>(i) * block;
      for (int64_t j = 0; j < block; ++j) row[j] = plus_scaled(row[j], value[j], factor);
    }
  });
  if (!in_place) return ops::copy_(dense, to, false);
  record_write(dense);
}

// Merges the entries of two COO tensors, keeping their order.
Tensor merged(const Tensor& left, const Tensor& right, const Scalar& alpha, DType dtype) {
  check(left.sizes() == right.sizes(), "add: expected sizes of 'self' and 'other' to match, but ",
        left.sizes(), " != ", right.sizes());
  const Checked a = checked(left), b = checked(right);
  check(a.sparse_dim() == b.sparse_dim(),
        "add: expected 'self' and 'other' to have same number of ", "sparse dimensions, but ",
        a.sparse_dim(), " != ", b.sparse_dim());
  const std::vector<int64_t> of_a = place_numbers(a), of_b = place_numbers(b);
  std::vector<int64_t> from_a, from_b;  // -1: not in that tensor
  for (size_t i = 0, j = 0; i < of_a.size() || j < of_b.size();) {
    const bool takes_a = j == of_b.size() || (i < of_a.size() && of_a[i] <= of_b[j]);
    const bool takes_b = i == of_a.size() || (j < of_b.size() && of_b[j] <= of_a[i]);
    from_a.push_back(takes_a ? static_cast<int64_t>(i++) : -1);
    from_b.push_back(takes_b ? static_cast<int64_t>(j++) : -1);
  }
  const auto nnz = static_cast<int64_t>(from_a.size());
  Dims value_sizes = a.values.sizes();
  value_sizes[0] = nnz;
  const Tensor indices = empty(Dims{a.sparse_dim(), nnz}, DType::kInt64);
  for (int64_t d = 0; d < a.sparse_dim(); ++d)
    for (int64_t i = 0; i < nnz; ++i) {
      const int64_t at = from_a[static_cast<size_t>(i)];
      indices.data_as<int64_t>()[d * nnz + i] =
          at >= 0 ? a.index(d)[at] : b.index(d)[from_b[static_cast<size_t>(i)]];
    }
  const Tensor values = empty(value_sizes, dtype);
  const Tensor x = plain(a.values, dtype), y = plain(b.values, dtype);
  const int64_t block = a.block();
  visit_any(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T factor = alpha.to<T>();
    const T *p = x.data_as<T>(), *q = y.data_as<T>();
    T* to = values.data_as<T>();
    for (int64_t i = 0; i < nnz * block; ++i) {
      const int64_t k = from_a[static_cast<size_t>(i / block)],
                    l = from_b[static_cast<size_t>(i / block)];
      T sum = k >= 0 ? p[k * block + i % block] : T{};
      if (l >= 0) sum = plus_scaled(sum, q[l * block + i % block], factor);
      to[i] = sum;
    }
  });
  record_write(indices);
  record_write(values);
  return make_coo(left.sizes(), indices, values, a.is_coalesced && b.is_coalesced);
}

void check_alpha(const Scalar& alpha, DType dtype) {
  check(is_inexact(dtype) || !alpha.is_float(),
        "For integral input tensors, argument alpha must not be a floating point number.");
  check(dtype != DType::kBool || alpha.kind() == Scalar::Kind::kBool ||
            alpha.kind() == Scalar::Kind::kInt,
        "Boolean alpha only supported for Boolean results.");
}

Tensor as_dtype(const Tensor& t, DType dtype) {
  return t.dtype() == dtype ? t
                            : ops::_to_copy(t, dtype, Device::kUndefined, MemoryFormat::kUndefined);
}

Tensor product_of_sparse(const Tensor& self, const Tensor& other) {
  const bool same = self.sizes() == other.sizes() && is_csr(self) == is_csr(other) &&
                    self.impl()->sparse()->sparse_dim() == other.impl()->sparse()->sparse_dim();
  check(same,
        "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, "
        "number of sparse dimensions, and shape of sparse dimensions");
  const auto is_sorted = [](const Tensor& t) { return t.impl()->sparse()->is_coalesced; };
  // Looks up one tensor at the other's indices, chosen as in PyTorch.
  const bool self_is_table = is_sorted(self) != is_sorted(other)
                                 ? is_sorted(self)
                                 : self.impl()->sparse()->nnz() >= other.impl()->sparse()->nnz();
  const Tensor& table = self_is_table ? self : other;
  const Tensor& positions = self_is_table ? other : self;
  const Tensor looked_up = values_at(table, checked(coo_of(positions)), "mul");
  return with_values(positions, ops::mul(values_of(positions), looked_up));
}

Tensor product_with_strided(const Tensor& sparse, const Tensor& strided) {
  const Tensor wide =
      strided.sizes() == sparse.sizes() ? strided : ops::expand(strided, sparse.sizes(), false);
  const Tensor picked = values_at(wide, checked(coo_of(sparse)), "mul");
  return with_values(sparse, ops::mul(values_of(sparse), picked));
}

void check_divisor(const Operand& other) {
  if (is_number(other)) return;
  fail(ErrorKind::kRuntime,
       "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape ",
       other.tensor.sizes(), " for divisor)");
}

// Writes a computed result to `self`: the in-place form.
void become(const Tensor& self, const Tensor& result, std::string_view op) {
  if (!self.is_sparse()) return ops::copy_(self, dense_of(result), false);
  check(result.is_sparse() && is_csr(result) == is_csr(self), op, ": the result is ",
        layout_title(result), ", which cannot be written into a tensor of layout ",
        layout_title(self));
  check(category(result.dtype()) <= category(self.dtype()), "result type ",
        info(result.dtype()).title, " can't be cast to the desired output type ",
        info(self.dtype()).title);
  self.impl()->set_sparse(*as_dtype(result, self.dtype()).impl()->sparse(), result.sizes());
}

}  // namespace

Tensor add(KeySet, const Operand& self, const Operand& other, const Scalar& alpha) {
  const bool sparse_and_number = (is_number(self) && !other.is_number()) || is_number(other);
  const bool is_sparse_first = !self.is_number() && self.tensor.is_sparse();
  if (is_sparse_first && is_coo(self.tensor) && (other.is_number() || !other.tensor.is_sparse()))
    fail(ErrorKind::kRuntime,
         "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
  if (sparse_and_number) {
    const Tensor& tensor = is_sparse_first ? self.tensor : other.tensor;
    fail(ErrorKind::kRuntime,
         "add: expected 'self' and 'other' to have same size, but self has size [] while other has "
         "size ",
         tensor.sizes(), " (FYI: op2-sparse addition does not currently support broadcasting)");
  }
  const Tensor &a = self.tensor, &b = other.tensor;
  check_on_host("add", a);
  check_on_host("add", b);
  const DType dtype = promote(a.dtype(), b.dtype());
  check_alpha(alpha, dtype);
  if (!a.is_sparse()) {
    const Tensor sum = ops::_to_copy(a, dtype, Device::kUndefined, MemoryFormat::kUndefined);
    add_values(sum, b, alpha, "add");
    return sum;
  }
  if (!b.is_sparse()) {  // CSR is the first operand
    const Tensor sum = as_dtype(b, dtype);
    const Tensor scaled = ops::mul(sum, alpha);
    add_values(scaled, a, Scalar(1), "add");
    return scaled;
  }
  check(is_csr(a) == is_csr(b), "add: expected two tensors of the same layout, got ",
        layout_title(a), " and ", layout_title(b));
  if (is_coo(a)) return merged(a, b, alpha, dtype);
  return csr_of(merged(coalesced(coo_of(a)), coalesced(coo_of(b)), alpha, dtype));
}

void add_in_place(KeySet keys, const Tensor& self, const Operand& other, const Scalar& alpha) {
  if (self.is_sparse() || other.is_number() || !other.tensor.is_sparse())
    return become(self, add(keys, self, other, alpha), "add_");
  check_on_host("add_", self);
  check_alpha(alpha, self.dtype());
  check(category(other.tensor.dtype()) <= category(self.dtype()), "result type ",
        info(other.tensor.dtype()).title, " can't be cast to the desired output type ",
        info(self.dtype()).title);
  add_values(self, other.tensor, alpha, "add");
}

Tensor sub(KeySet keys, const Operand& self, const Operand& other, const Scalar& alpha) {
  return add(keys, self, other, negated(alpha).number);
}
void sub_in_place(KeySet keys, const Tensor& self, const Operand& other, const Scalar& alpha) {
  add_in_place(keys, self, other, negated(alpha).number);
}

Tensor mul(KeySet, const Operand& self, const Operand& other) {
  for (const Operand* each : {&self, &other})
    if (!each->is_number()) check_on_host("mul", each->tensor);
  if (is_number(other)) return with_values(self.tensor, ops::mul(values_of(self.tensor), other));
  if (is_number(self)) return with_values(other.tensor, ops::mul(values_of(other.tensor), self));
  const Tensor &a = self.tensor, &b = other.tensor;
  if (a.is_sparse() && b.is_sparse()) return product_of_sparse(a, b);
  return a.is_sparse() ? product_with_strided(a, b) : product_with_strided(b, a);
}

void mul_in_place(KeySet keys, const Tensor& self, const Operand& other) {
  if (self.is_sparse() && is_number(other)) return ops::mul_(values_of(self), other);
  become(self, mul(keys, self, other), "mul_");
}

Tensor div(KeySet, const Operand& self, const Operand& other) {
  check_divisor(other);
  return with_values(self.tensor, ops::div(values_of(self.tensor), other));
}
void div_in_place(KeySet, const Tensor& self, const Operand& other) {
  check_divisor(other);
  ops::div_(values_of(self), other);
}

Tensor floor_divide(KeySet, const Operand& self, const Operand& other) {
  check_divisor(other);
  const Tensor sparse = is_coo(self.tensor) ? coalesced(self.tensor) : self.tensor;
  return with_values(sparse, ops::floor_divide(values_of(sparse), other));
}

Tensor pow(KeySet, const Operand& self, const Operand& exponent) {
  check_kind(!self.is_number() && self.tensor.is_sparse() && exponent.is_number(),
             ErrorKind::kNotImplemented,
             "pow: a sparse base needs a number as exponent: use x.to_dense() for another");
  check(
      exponent.number.to_complex().re != 0 || exponent.number.to_complex().im != 0,
      "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense");
  const Tensor sparse = is_coo(self.tensor) ? coalesced(self.tensor) : self.tensor;
  return with_values(sparse, ops::pow(values_of(sparse), exponent));
}

Tensor neg(KeySet, const Tensor& self) { return with_values(self, ops::neg(values_of(self))); }
void neg_in_place(KeySet, const Tensor& self) { ops::mul_(values_of(self), Scalar(-1)); }

Tensor sum(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype) {
  const Dims reduced = dim ? *dim : Dims();
  if (reduced.empty()) {
    const Tensor total = ops::sum(values_of(self), std::nullopt, false, dtype);
    return keepdim ? ops::reshape(total, Dims(static_cast<size_t>(self.ndim()), 1)) : total;
  }
  check(is_coo(self) || keepdim,
        "reduction operations on CSR tensors with keepdim=False is unsupported");
  std::vector<bool> goes(static_cast<size_t>(self.ndim()), false);
  for (const int64_t each : reduced) {
    const auto d = static_cast<size_t>(wrap_dim(each, self.ndim()));
    check(!goes[d], "dim ", d, " appears multiple times in the list of dims");
    goes[d] = true;
  }
  const Checked coo = checked(coo_of(self));
  Dims sizes, rows, dense;  // rows: indices that stay; dense: values reduced
  int64_t sparse_dim = 0;
  for (int64_t d = 0; d < self.ndim(); ++d) {
    const bool goes_here = goes[static_cast<size_t>(d)], is_sparse = d < coo.sparse_dim();
    if (!is_sparse && goes_here) dense.push_back(d - coo.sparse_dim() + 1);
    if (goes_here && !keepdim) continue;
    sizes.push_back(goes_here ? 1 : self.size(d));
    if (!is_sparse) continue;
    rows.push_back(goes_here ? -1 : d);
    ++sparse_dim;
  }
  Tensor values = dense.empty() ? as_dtype(coo.values, dtype != DType::kUndefined ? dtype
                                                       : is_inexact(self.dtype()) ? self.dtype()
                                                                                  : DType::kInt64)
                                : ops::sum(coo.values, dense, keepdim, dtype);
  if (sparse_dim == 0) return ops::sum(values, Dims{0}, false, DType::kUndefined);
  const int64_t nnz = coo.nnz();
  const Tensor indices = empty(Dims{sparse_dim, nnz}, DType::kInt64);
  for (int64_t r = 0; r < sparse_dim; ++r) {
    int64_t* to = indices.data_as<int64_t>() + r * nnz;
    const int64_t from = rows[static_cast<size_t>(r)];
    if (from < 0)
      std::fill_n(to, nnz, 0);
    else
      std::copy_n(coo.index(from), nnz, to);
  }
  record_write(indices);
  const Tensor total = coalesced(make_coo(sizes, indices, values, nnz < 2));
  return is_csr(self) ? csr_of(total) : total;
}

Tensor norm(KeySet, const Tensor& self, const Scalar& p) {
  return ops::norm_Scalar(is_coo(self) ? values_of(coalesced(self)) : values_of(self), p);
}

Tensor any(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim) {
  check_kind(!dim && !keepdim && is_coo(self), ErrorKind::kNotImplemented,
             "any: only any() of a whole COO tensor is supported: use x.to_dense().any(dim)");
  return ops::any(values_of(self), std::nullopt, false);
}

}  // namespace uh::sparse
