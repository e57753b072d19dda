// scaled_dot_product_attention: the choice of an implementation, and the composite one.
#include <cmath>
#include <limits>

#include "generated/kernels/attention.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/arrange.h"
#include "generated/ops/attention.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/linalg.h"
#include "generated/ops/random.h"
#include "generated/ops/reduce.h"
#include "generated/ops/softmax.h"
#include "generated/ops/view.h"
#include "memory/device_registry.h"
#include "ops/copy/in_dtype.h"
#include "tensor/tensor.h"

namespace uh::kernels {
namespace {

constexpr const char* kName = "scaled_dot_product_attention";

void check_arguments(const Tensor& query, const Tensor& key, const Tensor& value,
                     const Tensor& mask, double dropout_p) {
  check(query.dtype() == key.dtype() && query.dtype() == value.dtype(), kName,
        ": Expected query, key, and value to have the same dtype, but got ", name(query.dtype()),
        ", ", name(key.dtype()), " and ", name(value.dtype()));
  check(query.ndim() >= 2 && key.ndim() >= 2 && value.ndim() >= 2, kName,
        ": Expected query, key, and value to all be at least 2 dimensional, but got ", query.ndim(),
        ", ", key.ndim(), " and ", value.ndim(), " dimensions");
  check(!mask || mask.dtype() == DType::kBool || mask.dtype() == DType::kFloat32 ||
            mask.dtype() == query.dtype(),
        kName, ": Expected attn_mask dtype to be bool or float or to match query dtype, but got ",
        name(mask ? mask.dtype() : query.dtype()), " and query of ", name(query.dtype()));
  check(dropout_p >= 0 && dropout_p <= 1, kName,
        ": dropout probability has to be between 0 and 1, but got ", dropout_p);
}

// As in PyTorch, only the blocked kernel takes both, and only for batches of equal heads.
void check_mask(const Tensor& mask, bool is_causal, bool is_blocked) {
  check(!(mask && is_causal) || is_blocked, kName,
        ": Explicit attn_mask should not be set when is_causal=True");
}

// Returns whether all are (N, H, ...) with vectors of one width.
bool has_equal_heads(const Tensor& query, const Tensor& key, const Tensor& value) {
  const auto is_like_query = [&](const Tensor& t) {
    return t.ndim() == 4 && t.size(0) == query.size(0) && t.size(1) == query.size(1) &&
           t.size(3) == query.size(3);
  };
  return query.ndim() == 4 && is_like_query(key) && is_like_query(value);
}

int64_t heads_of(const Tensor& t) {
  check(t.ndim() >= 3, kName, ": enable_gqa needs a dimension of heads, got sizes ", t.sizes());
  return t.size(t.ndim() - 3);
}

void check_heads(const Tensor& query, const Tensor& key, const Tensor& value) {
  const int64_t heads = heads_of(query), keys = heads_of(key), values = heads_of(value);
  const auto divides = [&](int64_t n) { return n == heads || (n > 0 && heads % n == 0); };
  check(divides(keys) && divides(values), kName,
        ": Number of heads in key and value must divide the number of heads in query, got ", keys,
        ", ", values, " and ", heads);
}

// Repeats the heads of a key or value for the query heads that share them.
Tensor repeated(const Tensor& t, const Tensor& query) {
  if (heads_of(t) == heads_of(query)) return t;  // also if there are none
  const int64_t times = heads_of(query) / heads_of(t);
  return ops::repeat_interleave_self_int(t, times, t.ndim() - 3, std::nullopt);
}

// Views the heads as (heads of the key, query heads per key head).
Tensor in_groups(const Tensor& t, int64_t key_heads, int64_t group) {
  if (!t || t.ndim() < 3) return t;
  const int64_t dim = t.ndim() - 3;
  if (t.size(dim) != key_heads * group) return ops::unsqueeze(t, dim + 1);
  return ops::unflatten(t, dim, {key_heads, group});
}

// Converts a mask to one that is added: a bool mask becomes 0 where true and minus infinity
// elsewhere.
Tensor added_mask(const Tensor& mask, DType dtype) {
  if (mask.dtype() != DType::kBool) return in_dtype(mask, dtype);
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const Tensor retained = ops::zeros(mask.sizes(), dtype, mask.device());
  return ops::where(mask, retained, Scalar(kNever));
}

}  // namespace

Tensor scaled_dot_product_attention(KeySet, const Tensor& query, const Tensor& key,
                                    const Tensor& value, const Tensor& attn_mask, double dropout_p,
                                    bool is_causal, std::optional<double> scale, bool enable_gqa) {
  check_arguments(query, key, value, attn_mask, dropout_p);
  check_mask(attn_mask, is_causal, dropout_p == 0 && has_equal_heads(query, key, value));
  if (enable_gqa) check_heads(query, key, value);
  const bool alike = !enable_gqa || heads_of(key) == heads_of(value);
  const bool is_blocked = is_host(query.device()) || query.is_meta();  // its kernel reads host data
  if (dropout_p > 0 || !alike || !is_blocked) {
    return std::get<0>(ops::_scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, Tensor(), scale, enable_gqa));
  }
  const auto blocked = [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
    return std::get<0>(
        ops::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0, is_causal, mask, scale));
  };
  if (!enable_gqa || heads_of(query) == heads_of(key)) return blocked(query, key, value, attn_mask);
  const int64_t own = heads_of(key), group = heads_of(query) / own;
  const Tensor out =
      blocked(in_groups(query, own, group), ops::unsqueeze(key, key.ndim() - 2),
              ops::unsqueeze(value, value.ndim() - 2), in_groups(attn_mask, own, group));
  return ops::flatten(out, -4, -3);
}

std::tuple<Tensor, Tensor> attention_math(KeySet, const Tensor& query_in,
                                          const Tensor& key_in, const Tensor& value_in,
                                          const Tensor& attn_mask, double dropout_p, bool is_causal,
                                          const Tensor& dropout_mask, std::optional<double> scale,
                                          bool enable_gqa) {
  check_arguments(query_in, key_in, value_in, attn_mask, dropout_p);
  check_mask(attn_mask, is_causal, false);
  if (enable_gqa) check_heads(query_in, key_in, value_in);
  const DType dtype = query_in.dtype();
  const DType compute = is_reduced_floating(dtype) ? DType::kFloat32 : dtype;
  const Tensor query = in_dtype(query_in, compute);
  const Tensor k = in_dtype(enable_gqa ? repeated(key_in, query) : key_in, compute);
  const Tensor v = in_dtype(enable_gqa ? repeated(value_in, query) : value_in, compute);
  const int64_t width = query.size(query.ndim() - 1);
  const double factor = scale       ? *scale
                        : width > 0 ? 1 / std::sqrt(static_cast<double>(width))
                                    : 1.0;
  Tensor scores = ops::matmul(ops::mul(query, Scalar(factor)), ops::transpose(k, -2, -1));
  Tensor mask = attn_mask;
  if (is_causal) {
    const Dims square{query.size(query.ndim() - 2), k.size(k.ndim() - 2)};
    mask = ops::tril(ops::ones(square, DType::kBool, query.device()), 0);
  }
  if (mask) scores = ops::add(scores, added_mask(mask, compute), Scalar(1));
  Tensor weights = ops::softmax(scores, -1, DType::kUndefined);
  if (attn_mask) {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    const Tensor nothing = ops::all(ops::eq(scores, Scalar(kNever)), Dims{-1}, true);
    weights = ops::where(nothing, Scalar(0), weights);
  }
  Tensor retained = weights;
  if (dropout_mask)
    retained = ops::mul(ops::where(dropout_mask, weights, Scalar(0)), Scalar(1 / (1 - dropout_p)));
  else if (dropout_p > 0)
    retained = weights = ops::dropout(weights, dropout_p, true);
  return {in_dtype(ops::matmul(retained, v), dtype), in_dtype(weights, dtype)};
}

}  // namespace uh::kernels
