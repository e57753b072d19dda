// Attention in blocks: each block of queries is combined with one block of keys after another, so
// that only one block of scores is in memory (FlashAttention: Dao et al., 2022).
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/attention/problem.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/gemm.h"
#include "backend/cpu/loop_plan.h"
#include "base/parallel.h"
#include "generated/kernels/attention.h"
#include "ops/copy/write_out.h"

namespace uh::kernels {

using namespace attention;  // NOLINT: shared by the two attention files

namespace {

// Returns rows [at, at + count) of one member of the batch.
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

void attention_blocked(const Tensor& query, const Tensor& key, const Tensor& value, double,
                       bool is_causal, const Tensor& attn_mask, std::optional<double> scale,
                       const Tensor& out, const Tensor& logsumexp) {
  if (out.numel() == 0) return;
  const int64_t rows = rows_of(query), width = width_of(query), keys = rows_of(key);
  const bool little = is_little(out.numel(), rows * keys * (width + width_of(value)));
  const DType compute = little ? DType::kFloat64 : logsumexp.dtype();
  const Problem p =
      make_problem(query, key, value, attn_mask, is_causal, scale, batch_of(out), compute);
  if (events::on()) [[unlikely]]
    record_plan({.loop = "queries and keys block by block",
                 .sizes = {numel_of(p.batch), rows, keys, width},
                 .operands = {}});
  const Tensor result = out.dtype() == compute ? out : empty(out.sizes(), compute);
  const Tensor sums = logsumexp.dtype() == compute ? logsumexp : empty(logsumexp.sizes(), compute);
  if (compute == DType::kFloat32)
    attend_all(p, result.data_as<float>(), sums.data_as<float>());
  else
    attend_all(p, result.data_as<double>(), sums.data_as<double>());
  if (!result.is_same(out)) copy_elements(out, result);
  if (!sums.is_same(logsumexp)) copy_elements(logsumexp, sums);
}

}  // namespace uh::kernels
