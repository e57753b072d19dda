// Products with a sparse matrix. A COO or transposed operand is first converted to rows, in one
// pass over the entries; each row of the result is then computed by one thread.
#include <algorithm>
#include <type_traits>

#include "backend/cpu/loop_plan.h"
#include "backend/cpu/sparse/parts.h"
#include "backend/cpu/sparse_loops.h"
#include "base/parallel.h"
#include "generated/kernels/sparse.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/linalg.h"
#include "generated/ops/sparse.h"
#include "generated/ops/view.h"

namespace uh::sparse {
namespace {

// The rows of a sparse matrix or of its transpose.
struct Rows {
  std::vector<int64_t> bounds, columns;  // of entries that had to be sorted
  Tensor values;
  Checked parts;  // owns what is not copied
  SparseRows view{};
  int64_t count = 0, width = 0, nnz = 0;
};

// Sorts entries by row: computes where each row begins, then moves each entry there.
void sort_by_row(Rows& rows, const int64_t* row, const int64_t* column, const Checked& parts) {
  const int64_t nnz = parts.nnz();
  rows.bounds.assign(static_cast<size_t>(rows.count) + 1, 0);
  for (int64_t i = 0; i < nnz; ++i) ++rows.bounds[static_cast<size_t>(row[i]) + 1];
  for (int64_t r = 0; r < rows.count; ++r)
    rows.bounds[static_cast<size_t>(r) + 1] += rows.bounds[static_cast<size_t>(r)];
  rows.view.bounds = rows.bounds.data();
  bool in_order = true;
  for (int64_t i = 1; i < nnz; ++i) in_order = in_order && row[i - 1] <= row[i];
  if (in_order) {
    rows.view.columns = column;
    rows.values = parts.values;
    return;
  }
  std::vector<int64_t> next(rows.bounds.begin(), rows.bounds.end() - 1);
  rows.columns.resize(static_cast<size_t>(nnz));
  rows.values = empty(parts.values.sizes(), parts.values.dtype());
  visit_any(parts.values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = parts.values.data_as<T>();
    T* to = rows.values.data_as<T>();
    for (int64_t i = 0; i < nnz; ++i) {
      const int64_t at = next[static_cast<size_t>(row[i])]++;
      rows.columns[static_cast<size_t>(at)] = column[i];
      to[at] = from[i];
    }
  });
  rows.view.columns = rows.columns.data();
}

void check_matrix(const Tensor& t) {
  const SparseParts& parts = *t.impl()->sparse();
  check(parts.sparse_dim() == 2 && parts.dense_dim() == 0, "addmm: matrices expected, got ",
        parts.sparse_dim(), "D tensor");
}

// Reads the rows into `into`, which must not move afterwards.
void read_rows(Rows& into, const Tensor& matrix, bool transpose) {
  check_matrix(matrix);
  into.parts = checked(matrix);
  const Checked& parts = into.parts;
  into.count = matrix.size(transpose ? 1 : 0);
  into.width = matrix.size(transpose ? 0 : 1);
  into.nnz = parts.nnz();
  std::vector<int64_t> row_of;
  if (is_csr(matrix) && !transpose) {
    into.view.bounds = parts.rows();
    into.view.columns = parts.columns();
    into.values = parts.values;
  } else if (is_csr(matrix)) {
    row_of.resize(static_cast<size_t>(into.nnz));
    for (int64_t r = 0; r < matrix.size(0); ++r)
      std::fill(row_of.begin() + parts.rows()[r], row_of.begin() + parts.rows()[r + 1], r);
    sort_by_row(into, parts.columns(), row_of.data(), parts);
    if (into.columns.empty()) {  // already sorted: take over `row_of`
      into.columns = std::move(row_of);
      into.view.columns = into.columns.data();
    }
  } else {
    sort_by_row(into, parts.index(transpose ? 1 : 0), parts.index(transpose ? 0 : 1), parts);
  }
  into.view.values = into.values.data();
}

// Returns the dtype in which a product is computed: 16-bit floats and bools are widened.
DType computing_dtype(DType dtype) {
  return is_reduced_floating(dtype) ? DType::kFloat32
         : dtype == DType::kBool    ? DType::kUInt8
                                    : dtype;
}

template <class T>
const SparseProductLoops<T>& loops_of() {
  if constexpr (std::is_same_v<T, float>)
    return sparse_loops().of_float;
  else
    return sparse_loops().of_double;
}

template <class T>
void times_dense(T* out, const Rows& rows, const T* dense, int64_t width, const Scalar& beta,
                 const Scalar& alpha, int64_t lo, int64_t hi) {
  const T scale = beta.to<T>(), factor = alpha.to<T>();
  if constexpr (std::is_floating_point_v<T>) {
    loops_of<T>().times_dense(out, width, rows.view, dense, width, width, scale, factor, lo, hi);
  } else {
    const T* values = static_cast<const T*>(rows.view.values);
    std::vector<T> sum(static_cast<size_t>(width));
    for (int64_t r = lo; r < hi; ++r) {
      std::fill(sum.begin(), sum.end(), T{});
      for (int64_t i = rows.view.bounds[r]; i < rows.view.bounds[r + 1]; ++i) {
        const T* row = dense + rows.view.columns[i] * width;
        for (int64_t j = 0; j < width; ++j) {
          T& each = sum[static_cast<size_t>(j)];
          each = plus_scaled(each, values[i], row[j]);
        }
      }
      T* to = out + r * width;
      const bool adds = beta.to_bool();
      for (int64_t j = 0; j < width; ++j) {
        const T product = plus_scaled(T{}, sum[static_cast<size_t>(j)], factor);
        to[j] = adds ? plus_scaled(product, to[j], scale) : product;
      }
    }
  }
}

// Splits the rows between threads into ranges with about equal numbers of entries.
template <class F>
void for_row_ranges(const Rows& rows, int64_t width, const F& body) {
  const int64_t work = rows.nnz * std::max<int64_t>(width, 1) + rows.count * width;
  const int64_t ranges = ranges_of(work, kGrain);
  if (ranges <= 1) return body(0, rows.count);
  const auto first_row_of = [&](int64_t range) {
    const int64_t entry = rows.nnz * range / ranges;
    return range == ranges
               ? rows.count
               : std::lower_bound(rows.view.bounds, rows.view.bounds + rows.count, entry) -
                     rows.view.bounds;
  };
  parallel_for(0, ranges, 1, [&](int64_t lo, int64_t hi) {
    body(lo == 0 ? 0 : first_row_of(lo), first_row_of(hi));
  });
}

void check_same_dtype(const Tensor& sparse, const Tensor& dense) {
  check(sparse.dtype() == dense.dtype(), "expected scalar type ", info(sparse.dtype()).title,
        " but found ", info(dense.dtype()).title);
}

// out = beta out + alpha (sparse @ dense), or with the transpose of `sparse`.
Tensor product(const Tensor& sparse, const Tensor& dense, bool transpose, const Tensor& addend,
               const Scalar& beta, const Scalar& alpha) {
  check_matrix(sparse);
  check(dense.ndim() == 2, "addmm: matrices expected, got ", dense.ndim(), "D tensor");
  const int64_t inner = sparse.size(transpose ? 0 : 1);
  check(dense.size(0) == inner, "addmm: Argument #3 (dense): Expected dim 0 size ", inner, ", got ",
        dense.size(0));
  check_same_dtype(sparse, dense);
  check_on_host("addmm", dense);
  const DType dtype = computing_dtype(sparse.dtype());
  if (dtype != sparse.dtype()) {
    const auto as = [&](const Tensor& t) {
      return t ? ops::_to_copy(t, dtype, Device::kUndefined, MemoryFormat::kUndefined) : t;
    };
    return ops::_to_copy(product(as(sparse), as(dense), transpose, as(addend), beta, alpha),
                         sparse.dtype(), Device::kUndefined, MemoryFormat::kUndefined);
  }
  Rows rows;
  read_rows(rows, sparse, transpose);
  const Tensor right = plain(dense);
  const int64_t width = right.size(1);
  const Dims sizes{rows.count, width};
  Tensor out;
  if (addend) {
    check_same_dtype(sparse, addend);
    out = ops::clone(ops::expand(addend, sizes, false), MemoryFormat::kContiguous);
  } else {
    out = empty(sizes, dtype);
  }
  if (events::on()) [[unlikely]] {
    const int64_t item = itemsize(dtype);
    record_plan({.loop = "sparse product",
                 .sizes = sizes,
                 .operands = {{item, Dims{width * item, item}}, {item, Dims{0, item}}},
                 .threads = ranges_of(rows.nnz * width, kGrain),
                 .vector = is_floating(dtype)});
  }
  const Scalar scale = addend ? beta : Scalar(0);
  visit_any(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, Half> &&
                  !std::is_same_v<T, BFloat16>) {
      for_row_ranges(rows, width, [&](int64_t lo, int64_t hi) {
        times_dense(out.data_as<T>(), rows, right.data_as<T>(), width, scale, alpha, lo, hi);
      });
    }
  });
  record_write(out);
  return out;
}

// dense @ sparse, as the transpose of sparse' @ dense'.
Tensor dense_times_sparse(const Tensor& dense, const Tensor& sparse) {
  check(dense.ndim() == 2, "addmm: matrices expected, got ", dense.ndim(), "D tensor");
  check_matrix(sparse);
  check(dense.size(1) == sparse.size(0), "mat1 and mat2 shapes cannot be multiplied (",
        dense.size(0), "x", dense.size(1), " and ", sparse.size(0), "x", sparse.size(1), ")");
  return plain(ops::t(product(sparse, ops::t(dense), true, Tensor(), Scalar(0), Scalar(1))));
}

// The product of sparse matrices, row by row: a dense row of sums, and which of its columns are in
// use.
Tensor sparse_product(const Tensor& left, const Tensor& right) {
  check_matrix(left);
  check_matrix(right);
  check(left.size(1) == right.size(0), "mat1 and mat2 shapes cannot be multiplied (", left.size(0),
        "x", left.size(1), " and ", right.size(0), "x", right.size(1), ")");
  check(left.dtype() == right.dtype(), "expected scalar type ", info(left.dtype()).title,
        " but found ", info(right.dtype()).title);
  const DType dtype = computing_dtype(left.dtype());
  if (dtype != left.dtype()) {
    const auto as = [](const Tensor& t, DType to) {
      return ops::_to_copy(t, to, Device::kUndefined, MemoryFormat::kUndefined);
    };
    return as(sparse_product(as(left, dtype), as(right, dtype)), left.dtype());
  }
  Rows a, b;
  read_rows(a, left, false);
  read_rows(b, right, false);
  const int64_t columns = right.size(1);
  // Only columns in use have a sum: a matrix may have far more columns than values.
  std::vector<int64_t> used(b.view.columns, b.view.columns + b.nnz);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<int64_t> rank(static_cast<size_t>(b.nnz));  // index of each entry's column in `used`
  for (int64_t i = 0; i < b.nnz; ++i)
    rank[static_cast<size_t>(i)] =
        std::lower_bound(used.begin(), used.end(), b.view.columns[i]) - used.begin();
  const Tensor crow = ops::zeros(Dims{a.count + 1}, DType::kInt64, Device::kCPU);
  std::vector<int64_t> positions;
  Tensor values;
  visit_any(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, Half> &&
                  !std::is_same_v<T, BFloat16>) {
      std::vector<T> sums(used.size()), all;
      std::vector<int64_t> seen(used.size(), -1);  // last row that used the column
      const auto* of_a = static_cast<const T*>(a.view.values);
      const auto* of_b = static_cast<const T*>(b.view.values);
      for (int64_t r = 0; r < a.count; ++r) {
        const auto begin = static_cast<int64_t>(positions.size());
        for (int64_t i = a.view.bounds[r]; i < a.view.bounds[r + 1]; ++i) {
          const int64_t k = a.view.columns[i];
          for (int64_t j = b.view.bounds[k]; j < b.view.bounds[k + 1]; ++j) {
            const int64_t column = rank[static_cast<size_t>(j)];
            T& sum = sums[static_cast<size_t>(column)];
            if (seen[static_cast<size_t>(column)] != r) {
              seen[static_cast<size_t>(column)] = r;
              sum = T{};
              positions.push_back(column);
            }
            sum = plus_scaled(sum, of_a[i], of_b[j]);
          }
        }
        std::sort(positions.begin() + begin, positions.end());
        for (auto p = static_cast<size_t>(begin); p < positions.size(); ++p)
          all.push_back(sums[static_cast<size_t>(positions[p])]);
        crow.data_as<int64_t>()[r + 1] = static_cast<int64_t>(positions.size());
      }
      values = empty(Dims{static_cast<int64_t>(all.size())}, dtype);
      std::copy(all.begin(), all.end(), values.data_as<T>());
    }
  });
  const Tensor col = empty(Dims{static_cast<int64_t>(positions.size())}, DType::kInt64);
  for (size_t i = 0; i < positions.size(); ++i)
    col.data_as<int64_t>()[i] = used[static_cast<size_t>(positions[i])];
  record_write(crow);
  record_write(col);
  record_write(values);
  const Tensor csr = make_csr(Dims{a.count, columns}, crow, col, values);
  return is_csr(left) ? csr : coo_of(csr);
}

// out[r, j] = the best of the products of row r with column j, and its index. NaN is the best, as
// in amax.
template <class T, bool largest>
void select_products(T* out, int64_t* selected, const Rows& rows, const T* dense, int64_t width,
                     int64_t lo, int64_t hi) {
  const T* values = static_cast<const T*>(rows.view.values);
  for (int64_t r = lo; r < hi; ++r) {
    T* best = out + r * width;
    int64_t* at = selected + r * width;
    std::fill_n(best, width, T{});
    std::fill_n(at, width, int64_t{-1});
    for (int64_t i = rows.view.bounds[r]; i < rows.view.bounds[r + 1]; ++i) {
      const T* row = dense + rows.view.columns[i] * width;
      for (int64_t j = 0; j < width; ++j) {
        const T product = values[i] * row[j];
        const bool is_better = largest ? !(product <= best[j]) : !(product >= best[j]);
        if (at[j] < 0 || (is_better && best[j] == best[j])) {
          best[j] = product;
          at[j] = i;
        }
      }
    }
  }
}

// Multiplies rows and reduces the products by their maximum if `largest`, else their minimum.
std::tuple<Tensor, Tensor> selected_products(const Tensor& sparse, const Tensor& dense,
                                           bool largest) {
  const DType dtype = computing_dtype(sparse.dtype());
  if (dtype != sparse.dtype()) {
    const auto as = [](const Tensor& t, DType to) {
      return ops::_to_copy(t, to, Device::kUndefined, MemoryFormat::kUndefined);
    };
    const auto [out, selected] = selected_products(as(sparse, dtype), as(dense, dtype), largest);
    return {as(out, sparse.dtype()), selected};
  }
  Rows rows;
  read_rows(rows, sparse, false);
  const Tensor right = plain(dense);
  const int64_t width = right.size(1);
  const Tensor out = empty(Dims{rows.count, width}, dtype);
  const Tensor selected = empty(Dims{rows.count, width}, DType::kInt64);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    for_row_ranges(rows, width, [&](int64_t lo, int64_t hi) {
      const auto choose = largest ? select_products<T, true> : select_products<T, false>;
      choose(out.data_as<T>(), selected.data_as<int64_t>(), rows, right.data_as<T>(), width, lo, hi);
    });
  };
  dtype == DType::kFloat64 ? run(double{}) : run(float{});
  record_write(out);
  record_write(selected);
  return {out, selected};
}

void check_addmm_layouts(const Tensor& self, const Tensor& mat1, const Tensor& mat2) {
  const bool mixes = is_csr(mat1) != is_csr(mat2) && mat1.is_sparse() && mat2.is_sparse();
  check(!mixes, "addmm: computation on CPU is not implemented for ", layout_title(self), " + ",
        layout_title(mat1), " @ ", layout_title(mat2));
}

}  // namespace

Tensor mm(KeySet, const Tensor& self, const Tensor& mat2) {
  check_on_host("mm", self);
  check_on_host("mm", mat2);
  check_addmm_layouts(self, self, mat2);
  if (self.is_sparse() && mat2.is_sparse()) return sparse_product(self, mat2);
  if (mat2.is_sparse()) return dense_times_sparse(self, mat2);
  return product(self, mat2, false, Tensor(), Scalar(0), Scalar(1));
}

Tensor mv(KeySet, const Tensor& self, const Tensor& vec) {
  check_kind(self.is_sparse() && !vec.is_sparse(), ErrorKind::kNotImplemented,
             "mv: the vector is sparse, which is not supported: use vec.to_dense()");
  check(self.ndim() == 2, "mv: two dim tensor 'self' expected, got ", self.ndim(), "D");
  check(vec.ndim() == 1, "mv: one dim tensor 'vec' expected, got ", vec.ndim(), "D");
  check(vec.size(0) == self.size(1), "mv: expected self.size(-1) == vec.size(-1), got ",
        self.size(1), " and ", vec.size(0));
  return ops::squeeze(product(self, ops::unsqueeze(vec, 1), false, Tensor(), Scalar(0), Scalar(1)),
                      Dims{1});
}

Tensor addmm(KeySet, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  check_on_host("addmm", self);
  check_addmm_layouts(self, mat1, mat2);
  const bool supported = !self.is_sparse() && mat1.is_sparse() != mat2.is_sparse();
  check_kind(supported, ErrorKind::kNotImplemented,
             "addmm: computation on CPU is not implemented for ", layout_title(self), " + ",
             layout_title(mat1), " @ ", layout_title(mat2),
             ": convert the addend with x.to_dense(), or add to the product of sparse matrices");
  if (mat1.is_sparse()) return product(mat1, mat2, false, self, beta, alpha);
  const Tensor addend = ops::expand(self, Dims{mat1.size(0), mat2.size(1)}, false);
  return plain(ops::t(product(mat2, ops::t(mat1), true, ops::t(addend), beta, alpha)));
}

Tensor matmul(KeySet keys, const Tensor& self, const Tensor& other) {
  if (self.ndim() == 2 && other.ndim() == 1) return ops::mv(self, other);
  check_kind(self.ndim() == 2 && other.ndim() == 2, ErrorKind::kNotImplemented,
             "matmul: a sparse operand multiplies a matrix or a vector only, got shapes ",
             self.sizes(), " and ", other.sizes());
  return mm(keys, self, other);
}

}  // namespace uh::sparse

namespace uh::kernels {

using namespace sparse;  // NOLINT: all of this file is sparse

Tensor spmm(KeySet, const Tensor& self, const Tensor& mat2, bool transpose) {
  check(self.is_sparse() && !mat2.is_sparse(), "_spmm: expected a sparse matrix and a dense one");
  return product(self, mat2, transpose, Tensor(), Scalar(0), Scalar(1));
}

Tensor sparse_addmm(KeySet keys, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                    const Scalar& beta, const Scalar& alpha) {
  return sparse::addmm(keys, self, mat1, mat2, beta, alpha);
}

std::tuple<Tensor, Tensor> sparse_mm_reduce(KeySet, const Tensor& self, const Tensor& other,
                                            const std::string& reduce) {
  const bool largest = reduce == "amax" || reduce == "max";  // PyTorch accepts both names
  const bool chooses = largest || reduce == "amin" || reduce == "min";
  check(reduce != "prod", "sparse_mm_reduce: reduce type of prod has not been enabled.");
  check(chooses || reduce == "sum" || reduce == "mean",
        "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  check(!other.is_sparse(), "Expected tensor to have Strided Layout, but got tensor with ",
        layout_title(other), " Layout (while checking arguments for sparse_mm_reduce)");
  check_matrix(self);
  check(other.ndim() == 2 && other.size(0) == self.size(1),
        "Expected a tensor of dimension 2 and tensor.size[0] == ", self.size(1),
        " but got: dimension ", other.ndim(), " and tensor.size[0] = ",
        other.ndim() ? other.size(0) : 0);
  check(self.dtype() == other.dtype(), "Expected tensor for argument #1 'other' to have scalar type ",
        info(self.dtype()).title, "; but got ", info(other.dtype()).title,
        " (while checking arguments for sparse_mm_reduce)");
  check_kind(is_floating(self.dtype()), ErrorKind::kNotImplemented,
             "\"spmm_reduce_kernel\" not implemented for '", info(self.dtype()).title, "'");
  if (chooses) return selected_products(self, other, largest);
  const Tensor sum = product(self, other, false, Tensor(), Scalar(0), Scalar(1));
  const Tensor none = empty(Dims{0}, DType::kInt64);
  if (reduce == "sum") return {sum, none};
  const Tensor bounds = self.impl()->sparse()->crow_indices;
  const int64_t rows = self.size(0);
  const Tensor counts =
      ops::sub(ops::narrow(bounds, 0, 1, rows), ops::narrow(bounds, 0, 0, rows), Scalar(1));
  return {ops::div(sum, ops::unsqueeze(ops::clamp_min(counts, Scalar(1)), 1)), none};
}

Tensor sparse_sparse_matmul(KeySet, const Tensor& self, const Tensor& other) {
  check(self.is_sparse() && other.is_sparse(),
        "_sparse_sparse_matmul: expected two sparse matrices");
  check_addmm_layouts(self, self, other);
  return sparse_product(self, other);
}

Tensor sampled_mm(KeySet, const Tensor& mask, const Tensor& rows, const Tensor& columns) {
  check(mask.is_sparse() && !rows.is_sparse() && !columns.is_sparse(),
        "_sampled_mm: expected a sparse matrix and two dense ones");
  check_matrix(mask);
  const bool fits = rows.ndim() == 2 && columns.ndim() == 2 && rows.size(1) == columns.size(1) &&
                    rows.size(0) == mask.size(0) && columns.size(0) == mask.size(1);
  check(fits, "_sampled_mm: shapes ", rows.sizes(), " and ", columns.sizes(),
        " do not give the mask's ", mask.sizes());
  check(rows.dtype() == columns.dtype(), "expected scalar type ", info(rows.dtype()).title,
        " but found ", info(columns.dtype()).title);
  const Tensor left = plain(rows), right = plain(columns);
  const Checked at = checked(coo_of(mask));
  const Tensor values = empty(Dims{at.nnz()}, rows.dtype());
  const int64_t n = left.size(1);
  visit_any(rows.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *a = left.data_as<T>(), *b = right.data_as<T>();
    T* to = values.data_as<T>();
    parallel_for(0, at.nnz(), std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)),
                 [&](int64_t lo, int64_t hi) {
                   for (int64_t i = lo; i < hi; ++i) {
                     const T *x = a + at.index(0)[i] * n, *y = b + at.index(1)[i] * n;
                     if constexpr (std::is_floating_point_v<T>) {
                       to[i] = loops_of<T>().dot(x, y, n);
                     } else {
                       T sum{};
                       for (int64_t j = 0; j < n; ++j) sum = plus_scaled(sum, x[j], y[j]);
                       to[i] = sum;
                     }
                   }
                 });
  });
  record_write(values);
  return with_values(mask, values);
}

Tensor sparse_sampled_addmm(KeySet, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                            const Scalar& beta, const Scalar& alpha) {
  check_kind(!mat1.is_sparse() && !mat2.is_sparse(), ErrorKind::kRuntime,
             "sampled_addmm: Expected mat1 and mat2 to be strided tensors");
  check(mat1.ndim() == 2 && mat2.ndim() == 2,
        "sampled_addmm: Expected mat1 and mat2 to be matrices");
  check(mat1.size(1) == mat2.size(0), "sampled_addmm: mat1 and mat2 shapes cannot be multiplied (",
        mat1.size(0), "x", mat1.size(1), " and ", mat2.size(0), "x", mat2.size(1), ")");
  check(self.size(0) == mat1.size(0), "sampled_addmm: self.shape[-2] must match mat1.shape[-2]");
  check(self.size(1) == mat2.size(1), "sampled_addmm: self.shape[-1] must match mat2.shape[-1]");
  check_same_dtype(self, mat1);
  const Tensor sampled = ops::_sampled_mm(self, mat1, ops::t(mat2));
  const Tensor& values = self.impl()->sparse()->values;
  return with_values(self, ops::add(ops::mul(sampled.impl()->sparse()->values, alpha),
                                    ops::mul(values, beta), Scalar(1)));
}

}  // namespace uh::kernels
