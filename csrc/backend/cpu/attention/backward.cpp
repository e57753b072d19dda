// The gradient of attention in blocks: the weights are recomputed block by block from the
// logsumexp, so that memory holds no more scores than in forward.
//
// With p = softmax(scale q k^T + mask) and out = p v:
//   grad_v = p^T grad;  ds = p (grad v^T - sum_j grad_j out_j);
//   grad_q = scale ds k;  grad_k = scale ds^T q
#include <tuple>
#include <vector>

#include "backend/cpu/attention/problem.h"
#include "backend/cpu/linalg/gemm.h"
#include "base/parallel.h"
#include "generated/kernels/attention.h"
#include "ops/copy/write_out.h"

namespace uh::kernels {

using namespace attention;  // NOLINT: shared by the two attention files

namespace {

// c += alpha * a^T b, where a has k rows and m columns.
void add_product_of_transposed(int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                               const float* b, int64_t b_row, float* c) {
  scipy_cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, static_cast<blasint>(m),
                    static_cast<blasint>(n), static_cast<blasint>(k), alpha, a,
                    static_cast<blasint>(m), b, static_cast<blasint>(b_row), 1, c,
                    static_cast<blasint>(n));
}
void add_product_of_transposed(int64_t m, int64_t n, int64_t k, double alpha, const double* a,
                               const double* b, int64_t b_row, double* c) {
  scipy_cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, static_cast<blasint>(m),
                    static_cast<blasint>(n), static_cast<blasint>(k), alpha, a,
                    static_cast<blasint>(m), b, static_cast<blasint>(b_row), 1, c,
                    static_cast<blasint>(n));
}

// One member of the batch, with contiguous rows.
template <class T>
struct Member {
  const T *grad, *out, *logsumexp;
  T *grad_query, *grad_key, *grad_value;
};

template <class T>
void backward(const Problem& p, int64_t member, const Member<T>& m, std::vector<T>& scores,
              std::vector<T>& slopes) {
  const auto& loops = loops_of(T{});
  const T* query = p.query.at<T>(p.batch, member);
  const T* key = p.key.at<T>(p.batch, member);
  const T* value = p.value.at<T>(p.batch, member);
  const void* mask = nullptr;
  if (p.masked && p.mask.tensor.dtype() == DType::kBool)
    mask = p.mask.at<bool>(p.batch, member);
  else if (p.masked)
    mask = p.mask.at<T>(p.batch, member);
  const auto scale = static_cast<T>(p.scale);
  const int64_t by_query = std::max<int64_t>({p.query.row, p.width, 1});
  const int64_t by_key = std::max<int64_t>({p.key.row, p.width, 1});
  const int64_t by_value = std::max<int64_t>({p.value.row, p.value_width, 1});
  ScoreBlock<T> block{scores.data(), 0, 0, nullptr, nullptr, nullptr, p.value_width};
  T means[kQueries];
  for (int64_t at = 0; at < p.queries; at += kQueries) {
    block.rows = std::min(kQueries, p.queries - at);
    const T* grad = m.grad + at * p.value_width;
    const T* out = m.out + at * p.value_width;
    for (int64_t r = 0; r < block.rows; ++r)
      means[r] = loops.dot(grad + r * p.value_width, out + r * p.value_width, p.value_width);
    const int64_t keys = p.causal ? std::min(p.keys, at + block.rows) : p.keys;
    for (int64_t first = 0; first < keys; first += kKeys) {
      block.keys = std::min(kKeys, keys - first);
      score(p, query + at * p.query.row, key + first * p.key.row, mask, at, block, first);
      product(true, block.rows, block.keys, p.value_width, T(1), grad, p.value_width,
              value + first * p.value.row, by_value, T(0), slopes.data(), block.keys);
      for (int64_t r = 0; r < block.rows; ++r)
        loops.slopes(block.scores + r * block.keys, slopes.data() + r * block.keys,
                     m.logsumexp[at + r], means[r], block.keys);
      add_product_of_transposed(block.keys, p.value_width, block.rows, T(1), block.scores, grad,
                                p.value_width, m.grad_value + first * p.value_width);
      add_product_of_transposed(block.keys, p.width, block.rows, scale, slopes.data(),
                                query + at * p.query.row, by_query, m.grad_key + first * p.width);
      product(false, block.rows, p.width, block.keys, scale, slopes.data(), block.keys,
              key + first * p.key.row, by_key, T(1), m.grad_query + at * p.width, p.width);
    }
  }
}

Tensor zeros(const Dims& batch, int64_t rows, int64_t width, DType dtype) {
  Dims sizes = batch;
  sizes.push_back(rows);
  sizes.push_back(width);
  Tensor result = empty(sizes, dtype);
  fill_elements(result, ElementBytes{});
  return result;
}

}  // namespace

namespace {

// Checks that the inputs and outputs of forward match; a gradient has its output's shape.
void check_parts(const Tensor& grad_out, const Tensor& query, const Tensor& key,
                 const Tensor& value, const Tensor& out, const Tensor& logsumexp,
                 const Tensor& attn_mask) {
  static constexpr std::string_view kOp = "_scaled_dot_product_flash_attention_for_cpu_backward";
  check(query.ndim() >= 2 && key.ndim() >= 2 && value.ndim() >= 2, kOp,
        ": expected at least 2 dimensions, got ", query.sizes(), ", ", key.sizes(), " and ",
        value.sizes());
  const DType dtype = query.dtype();
  const DType wide = dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  check_kind(is_floating(dtype), ErrorKind::kNotImplemented, "\"", kOp, "\" not implemented for '",
             info(dtype).title, "'");
  check(key.dtype() == dtype && value.dtype() == dtype && is_floating(out.dtype()) &&
            is_floating(grad_out.dtype()) && logsumexp.dtype() == wide,
        kOp, ": expected tensors of ", name(dtype), " and logsumexp of ", name(wide), ", got ",
        name(key.dtype()), ", ", name(value.dtype()), ", ", name(out.dtype()), " and ",
        name(logsumexp.dtype()));
  const int64_t rows = query.size(query.ndim() - 2), keys = key.size(key.ndim() - 2);
  check(key.size(key.ndim() - 1) == query.size(query.ndim() - 1) &&
            value.size(value.ndim() - 2) == keys,
        kOp, ": query, key and value of sizes ", query.sizes(), ", ", key.sizes(), " and ",
        value.sizes(), " do not go together");
  Dims sizes = broadcast_shapes(broadcast_shapes(leading(query), leading(key)), leading(value));
  sizes.push_back(rows);
  check(logsumexp.sizes() == sizes, kOp, ": logsumexp has sizes ", logsumexp.sizes(), ", expected ",
        sizes);
  Dims scores = sizes;
  scores.push_back(keys);
  if (attn_mask) check_broadcasts_to(attn_mask.sizes(), scores, kOp);
  sizes.push_back(value.size(value.ndim() - 1));
  check(out.sizes() == sizes && grad_out.sizes() == sizes, kOp, ": out and grad_out have sizes ",
        out.sizes(), " and ", grad_out.sizes(), ", expected ", sizes);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> attention_blocked_backward(
    KeySet key_set, const Tensor& grad_out, const Tensor& query, const Tensor& key,
    const Tensor& value, const Tensor& out, const Tensor& logsumexp, double, bool is_causal,
    const Tensor& attn_mask, std::optional<double> scale) {
  check_parts(grad_out, query, key, value, out, logsumexp, attn_mask);
  const Dims batch = leading(out);
  const DType dtype = query.dtype();
  if (out.is_meta()) {
    return {empty(query.sizes(), dtype, out.device()), empty(key.sizes(), dtype, out.device()),
            empty(value.sizes(), dtype, out.device())};
  }
  const int64_t members = numel_of(batch), rows = query.size(query.ndim() - 2),
                width = query.size(query.ndim() - 1), keys = key.size(key.ndim() - 2),
                value_width = value.size(value.ndim() - 1);
  const bool little = is_little(out.numel(), rows * keys * (width + value_width));
  const DType compute = little ? DType::kFloat64 : logsumexp.dtype();
  Tensor output = out, sums = logsumexp;
  if (compute != logsumexp.dtype())  // a rounded logsumexp would not match scores in double
    std::tie(output, sums) =
        attention_blocked(key_set, as_contiguous(query, compute), as_contiguous(key, compute),
                          as_contiguous(value, compute), 0, is_causal, attn_mask, scale);
  const Tensor grad_query = zeros(batch, rows, width, compute),
               grad_key = zeros(batch, keys, width, compute),
               grad_value = zeros(batch, keys, value_width, compute);
  const Tensor grad = as_contiguous(grad_out, compute);
  output = as_contiguous(output, compute);
  sums = as_contiguous(sums);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const Problem p = make_problem(query, key, value, attn_mask, is_causal, scale, batch, compute);
    set_blas_threads(1);
    parallel_for(0, members, 1, [&](int64_t lo, int64_t hi) {
      const auto room = static_cast<size_t>(p.block() * std::min(kKeys, p.keys));
      std::vector<T> scores(room), slopes(room);
      for (int64_t i = lo; i < hi; ++i) {
        const Member<T> m{grad.data_as<T>() + i * rows * value_width,
                          output.data_as<T>() + i * rows * value_width,
                          sums.data_as<T>() + i * rows,
                          grad_query.data_as<T>() + i * rows * width,
                          grad_key.data_as<T>() + i * keys * width,
                          grad_value.data_as<T>() + i * keys * value_width};
        backward(p, i, m, scores, slopes);
      }
    });
  };
  if (out.numel() > 0 && keys > 0) compute == DType::kFloat32 ? run(float{}) : run(double{});
  const auto finished = [&](const Tensor& t) {
    const Tensor converted = as_contiguous(t, dtype);
    record_write(converted);
    return converted;
  };
  return {finished(grad_query), finished(grad_key), finished(grad_value)};
}

}  // namespace uh::kernels
