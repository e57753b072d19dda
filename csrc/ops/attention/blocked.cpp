// Attention in blocks: a block of queries meets one block of keys after another, and only their
// scores are in memory, never all of them (FlashAttention: Dao et al., 2022).
#include <cblas.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "generated/kernels/attention.h"
#include "ops/copy/copy.h"
#include "ops/kernel/attention_loops.h"
#include "ops/kernel/plan.h"
#include "ops/linalg/gemm.h"

namespace uh::kernels {
namespace {

constexpr const char* kName = "scaled_dot_product_attention";
constexpr int64_t kLittle = 1024;              // elements of a result, multiplications
constexpr int64_t kQueries = 64, kKeys = 512;  // 128 KiB of float scores: the second cache

void product(bool transposed, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
             int64_t a_row, const float* b, int64_t b_row, float beta, float* c, int64_t c_row) {
  scipy_cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans,
                    static_cast<blasint>(m), static_cast<blasint>(n), static_cast<blasint>(k),
                    alpha, a, static_cast<blasint>(a_row), b, static_cast<blasint>(b_row), beta, c,
                    static_cast<blasint>(c_row));
}
void product(bool transposed, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
             int64_t a_row, const double* b, int64_t b_row, double beta, double* c, int64_t c_row) {
  scipy_cblas_dgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans,
                    static_cast<blasint>(m), static_cast<blasint>(n), static_cast<blasint>(k),
                    alpha, a, static_cast<blasint>(a_row), b, static_cast<blasint>(b_row), beta, c,
                    static_cast<blasint>(c_row));
}

const FloatAttention& loops_of(float) { return float_attention_loops(); }
const DoubleAttention& loops_of(double) { return double_attention_loops(); }

// The matrix of each member of the batch: its last two dimensions, the others broadcast.
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

// Rows as BLAS reads them: neighbouring columns side by side, rows not over each other.
Tensor with_rows(const Tensor& given, DType compute) {
  const Tensor t = given.dtype() == compute ? given : as_contiguous(given, compute);
  const int64_t rows = t.ndim() - 2, columns = t.ndim() - 1;
  const bool dense = t.size(columns) <= 1 || t.stride(columns) == 1;
  const bool apart =
      t.size(rows) <= 1 || (t.stride(rows) >= t.size(columns) && t.stride(rows) <= INT32_MAX);
  return dense && apart ? t : as_contiguous(t);
}

Dims leading(const Tensor& t) {
  return Dims(IntSpan(t.sizes().data(), static_cast<size_t>(t.ndim() - 2)));
}

struct Problem {
  Dims batch;
  Matrices query, key, value, mask;
  int64_t queries, keys, width, value_width;
  double scale;
  bool causal, masked;

  // Queries of a block.
  int64_t block() const { return std::min(kQueries, queries); }
};

// The scores of one block of queries against keys [first, first + count), masked.
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

// Rows [at, at + count) of one member of the batch.
template <class T>
void attend(const Problem& p, int64_t member, int64_t at, std::vector<T>& scores, T* out,
            T* logsumexp) {
  const auto& loops = loops_of(T{});
  const int64_t rows = std::min(p.block(), p.queries - at);
  const int64_t keys = p.causal ? std::min(p.keys, at + rows) : p.keys;
  T largest[kQueries], sum[kQueries];
  std::fill(largest, largest + rows, -std::numeric_limits<T>::infinity());
  std::fill(sum, sum + rows, T(0));
  const T* query = p.query.at<T>(p.batch, member) + at * p.query.row;
  const T* key = p.key.at<T>(p.batch, member);
  const T* value = p.value.at<T>(p.batch, member);
  const void* mask = nullptr;
  if (p.masked && p.mask.tensor.dtype() == DType::kBool)
    mask = p.mask.at<bool>(p.batch, member);
  else if (p.masked)
    mask = p.mask.at<T>(p.batch, member);
  ScoreBlock<T> block{scores.data(), rows, 0, largest, sum, out, p.value_width};
  for (int64_t first = 0; first < keys; first += kKeys) {
    block.keys = std::min(kKeys, keys - first);
    score(p, query, key + first * p.key.row, mask, at, block, first);
    loops.absorb(block);
    product(false, rows, p.value_width, block.keys, 1, block.scores, block.keys,
            value + first * p.value.row, std::max<int64_t>({p.value.row, p.value_width, 1}),
            first ? 1 : 0, out, p.value_width);
  }
  loops.finish(block);
  for (int64_t r = 0; r < rows; ++r) logsumexp[r] = largest[r] + std::log(sum[r]);
}

template <class T>
void attend_all(const Problem& p, T* out, T* logsumexp) {
  const int64_t blocks = (p.queries + p.block() - 1) / p.block();
  const int64_t work =
      p.block() * std::max<int64_t>(p.keys, 1) * std::max<int64_t>(p.width + p.value_width, 1);
  set_blas_threads(1);
  parallel_for(0, numel_of(p.batch) * blocks, std::max<int64_t>(1, 131072 / work),
               [&](int64_t lo, int64_t hi) {
                 std::vector<T> scores(static_cast<size_t>(p.block() * std::min(kKeys, p.keys)));
                 for (int64_t i = lo; i < hi; ++i) {
                   const int64_t at = i % blocks * p.block(), row = i / blocks * p.queries + at;
                   attend(p, i / blocks, at, scores, out + row * p.value_width, logsumexp + row);
                 }
               });
}

}  // namespace

std::tuple<Tensor, Tensor> attention_blocked(KeySet, const Tensor& query, const Tensor& key,
                                             const Tensor& value, double dropout_p, bool is_causal,
                                             const Tensor& attn_mask, std::optional<double> scale) {
  check(query.ndim() >= 2 && key.ndim() >= 2 && value.ndim() >= 2, kName,
        ": expected at least 2 dimensions, got ", query.sizes(), ", ", key.sizes(), " and ",
        value.sizes());
  check(dropout_p == 0, kName, ": the blocked kernel has no dropout, got ", dropout_p);
  const DType dtype = query.dtype();
  check_kind(is_floating(dtype), ErrorKind::kNotImplemented, "\"", kName,
             "\" not implemented for '", info(dtype).title, "'");
  check(key.dtype() == dtype && value.dtype() == dtype, kName, ": expected one dtype, got ",
        name(dtype), ", ", name(key.dtype()), " and ", name(value.dtype()));
  const int64_t rows = query.size(query.ndim() - 2), width = query.size(query.ndim() - 1);
  const int64_t keys = key.size(key.ndim() - 2);
  check(key.size(key.ndim() - 1) == width, kName, ": query and key have vectors of ", width,
        " and ", key.size(key.ndim() - 1), " elements");
  check(value.size(value.ndim() - 2) == keys, kName, ": there are ", keys, " keys but ",
        value.size(value.ndim() - 2), " values");
  const int64_t value_width = value.size(value.ndim() - 1);
  check(std::max(width, value_width) <= INT32_MAX, kName, ": vectors of ", width, " and ",
        value_width, " elements are too long");
  const Dims batch =
      broadcast_shapes(broadcast_shapes(leading(query), leading(key)), leading(value));
  Dims sizes = batch;
  sizes.push_back(rows);
  const DType wide = dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  Tensor logsumexp = empty(sizes, wide, query.device());
  const Dims row_sizes = sizes;
  Dims score_sizes = sizes;
  score_sizes.push_back(keys);
  if (attn_mask) check_broadcasts_to(attn_mask.sizes(), score_sizes, kName);
  sizes.push_back(value_width);
  Tensor out = empty(sizes, dtype, query.device());
  if (out.is_meta() || out.numel() == 0) return {out, logsumexp};
  // Large scores lose digits in float. Where there is little to do, double costs nothing.
  const bool little = out.numel() <= kLittle && rows * keys * (width + value_width) <= kLittle;
  const DType compute = little ? DType::kFloat64 : wide;
  Problem p{.batch = batch,
            .query = Matrices(with_rows(query, compute), batch),
            .key = Matrices(with_rows(key, compute), batch),
            .value = Matrices(with_rows(value, compute), batch),
            .mask = {},
            .queries = rows,
            .keys = keys,
            .width = width,
            .value_width = value_width,
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
  if (events::on()) [[unlikely]]
    record_plan({.loop = "queries and keys block by block",
                 .sizes = {numel_of(batch), rows, keys, width},
                 .operands = {}});
  const Tensor made = dtype == compute ? out : empty(sizes, compute);
  const Tensor sums = wide == compute ? logsumexp : empty(row_sizes, compute);
  if (compute == DType::kFloat32)
    attend_all(p, made.data_as<float>(), sums.data_as<float>());
  else
    attend_all(p, made.data_as<double>(), sums.data_as<double>());
  if (dtype != compute) copy_elements(out, made);
  if (wide != compute) copy_elements(logsumexp, sums);
  record_write(out);
  record_write(logsumexp);
  return {out, logsumexp};
}

}  // namespace uh::kernels
