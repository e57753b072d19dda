// The problem that attention kernels solve: a batch of matrices, and blocks of scores.
#pragma once

#include <cblas.h>

#include <cmath>
#include <limits>

#include "backend/cpu/attention_loops.h"
#include "backend/cpu/copy/elements.h"
#include "ops/attention/shapes.h"

namespace uh::attention {

constexpr int64_t kQueries = 64, kKeys = 512;  // 128 KiB of float scores: fits L2

// Float loses digits of large scores. For little work, double costs nothing.
inline bool is_little(int64_t results, int64_t multiplications) {
  constexpr int64_t kMaxLittle = 1024;
  return results <= kMaxLittle && multiplications <= kMaxLittle;
}

// c = alpha * a b + beta * c, with b transposed or not.
inline void product(bool transposed, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                    int64_t a_row, const float* b, int64_t b_row, float beta, float* c,
                    int64_t c_row) {
  scipy_cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans,
                    static_cast<blasint>(m), static_cast<blasint>(n), static_cast<blasint>(k),
                    alpha, a, static_cast<blasint>(a_row), b, static_cast<blasint>(b_row), beta, c,
                    static_cast<blasint>(c_row));
}
inline void product(bool transposed, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
                    int64_t a_row, const double* b, int64_t b_row, double beta, double* c,
                    int64_t c_row) {
  scipy_cblas_dgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans,
                    static_cast<blasint>(m), static_cast<blasint>(n), static_cast<blasint>(k),
                    alpha, a, static_cast<blasint>(a_row), b, static_cast<blasint>(b_row), beta, c,
                    static_cast<blasint>(c_row));
}

inline const FloatAttention& loops_of(float) { return float_attention_loops(); }
inline const DoubleAttention& loops_of(double) { return double_attention_loops(); }

// The matrices of a batch: a tensor's last two dimensions, with the others broadcast.
struct Matrices {
  Tensor tensor;
  Dims strides;  // of the batch, in elements
  int64_t row = 0, column = 0;

  Matrices() = default;
  Matrices(const Tensor& t, const Dims& batch) : tensor(t), strides(batch.size()) {
    const int64_t lead = t.ndim() - 2, rank = batch.ndim();
    for (int64_t d = 0; d < lead; ++d)
      strides[static_cast<size_t>(rank - lead + d)] = t.size(d) == 1 ? 0 : t.stride(d);
    row = t.size(lead) == 1 ? 0 : t.stride(lead);
    column = t.size(lead + 1) == 1 ? 0 : t.stride(lead + 1);
  }

  template <class T>
  const T* at(const Dims& batch, int64_t member) const {
    int64_t offset = 0;
    for (size_t d = batch.size(); d-- > 0; member /= batch[d])
      offset += member % batch[d] * strides[d];
    return tensor.data_as<T>() + offset;
  }
};

// Returns rows that BLAS can read: adjacent columns, and rows that do not overlap.
inline Tensor with_rows(const Tensor& input, DType compute) {
  const Tensor t = input.dtype() == compute ? input : as_contiguous(input, compute);
  const int64_t rows = t.ndim() - 2, columns = t.ndim() - 1;
  const bool dense = t.size(columns) <= 1 || t.stride(columns) == 1;
  const bool apart =
      t.size(rows) <= 1 || (t.stride(rows) >= t.size(columns) && t.stride(rows) <= INT32_MAX);
  return dense && apart ? t : as_contiguous(t);
}

struct Problem {
  Dims batch;
  Matrices query, key, value, mask;
  int64_t queries, keys, width, value_width;
  double scale;
  bool causal, masked;

  // Returns the number of queries in a block.
  int64_t block() const { return std::min(kQueries, queries); }
};

// The masked scores of a block of queries against keys [first, first + count).
template <class T>
void score(const Problem& p, const T* query, const T* key, const void* mask, int64_t at,
           const ScoreBlock<T>& b, int64_t first) {
  const auto& loops = loops_of(T{});
  product(true, b.rows, b.keys, p.width, static_cast<T>(p.scale), query,
          std::max<int64_t>({p.query.row, p.width, 1}), key,
          std::max<int64_t>({p.key.row, p.width, 1}), 0, b.scores, b.keys);
  for (int64_t r = 0; p.causal && r < b.rows; ++r) {
    const int64_t seen = std::clamp<int64_t>(at + r + 1 - first, 0, b.keys);
    std::fill(b.scores + r * b.keys + seen, b.scores + (r + 1) * b.keys,
              -std::numeric_limits<T>::infinity());
  }
  for (int64_t r = 0; p.masked && r < b.rows; ++r) {
    const int64_t from = (at + r) * p.mask.row + first * p.mask.column;
    if (p.mask.tensor.dtype() == DType::kBool)
      loops.keep(b.scores + r * b.keys, static_cast<const bool*>(mask) + from, p.mask.column,
                 b.keys);
    else
      loops.add(b.scores + r * b.keys, static_cast<const T*>(mask) + from, p.mask.column, b.keys);
  }
}

inline Problem make_problem(const Tensor& query, const Tensor& key, const Tensor& value,
                            const Tensor& attn_mask, bool is_causal, std::optional<double> scale,
                            const Dims& batch, DType compute) {
  const int64_t width = width_of(query);
  Problem p{.batch = batch,
            .query = Matrices(with_rows(query, compute), batch),
            .key = Matrices(with_rows(key, compute), batch),
            .value = Matrices(with_rows(value, compute), batch),
            .mask = {},
            .queries = rows_of(query),
            .keys = rows_of(key),
            .width = width,
            .value_width = width_of(value),
            .scale = scale ? *scale : 1 / std::sqrt(static_cast<double>(width)),
            .causal = is_causal,
            .masked = static_cast<bool>(attn_mask)};
  if (attn_mask) {
    Tensor mask = attn_mask;
    if (mask.dtype() != DType::kBool) mask = as_contiguous(mask, compute);
    while (mask.ndim() < 2) {
      Dims more{1};
      for (const int64_t size : mask.sizes()) more.push_back(size);
      Dims strides{0};
      for (const int64_t stride : mask.strides()) strides.push_back(stride);
      mask = alias(mask, Layout{more, strides, mask.offset()});
    }
    if (mask.stride(mask.ndim() - 1) > 1 && mask.size(mask.ndim() - 1) > 1)
      mask = as_contiguous(mask);
    p.mask = Matrices(mask, batch);
  }
  return p;
}

}  // namespace uh::attention
