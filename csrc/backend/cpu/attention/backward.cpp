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

}  // namespace

void attention_blocked_backward(const Tensor& grad_out, const Tensor& query, const Tensor& key,
                                const Tensor& value, const Tensor& out, const Tensor& logsumexp,
                                double, bool is_causal, const Tensor& attn_mask,
                                std::optional<double> scale, const Tensor& grad_query,
                                const Tensor& grad_key, const Tensor& grad_value) {
  const Dims batch = batch_of(out);
  const int64_t members = numel_of(batch), rows = rows_of(query), width = width_of(query),
                keys = rows_of(key), value_width = width_of(value);
  const bool little = is_little(out.numel(), rows * keys * (width + value_width));
  const DType compute = little ? DType::kFloat64 : logsumexp.dtype();
  Tensor output = as_contiguous(out, compute), sums = as_contiguous(logsumexp, compute);
  if (compute != logsumexp.dtype())  // a rounded logsumexp would not match scores in double
    attention_blocked(as_contiguous(query, compute), as_contiguous(key, compute),
                      as_contiguous(value, compute), 0, is_causal, attn_mask, scale, output, sums);
  const Tensor results[] = {grad_query, grad_key, grad_value};
  Tensor sum_of[3];  // each gradient in the dtype of the computation
  for (int i = 0; i < 3; ++i) {
    const bool same = results[i].dtype() == compute;
    sum_of[i] = same ? results[i] : empty(results[i].sizes(), compute);
    fill_elements(sum_of[i], ElementBytes{});
  }
  const Tensor grad = as_contiguous(grad_out, compute);
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
                          sum_of[0].data_as<T>() + i * rows * width,
                          sum_of[1].data_as<T>() + i * keys * width,
                          sum_of[2].data_as<T>() + i * keys * value_width};
        backward(p, i, m, scores, slopes);
      }
    });
  };
  if (out.numel() > 0 && keys > 0) compute == DType::kFloat32 ? run(float{}) : run(double{});
  for (int i = 0; i < 3; ++i)
    if (!sum_of[i].is_same(results[i])) copy_elements(results[i], sum_of[i]);
}

}  // namespace uh::kernels
