#include "ops/attention/shapes.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "ops/copy/write_out.h"

namespace uh::shapes {
namespace {

Dims with(Dims sizes, std::initializer_list<int64_t> more) {
  for (const int64_t size : more) sizes.push_back(size);
  return sizes;
}

DType sum_dtype(DType dtype) {
  return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

// Checks the inputs and returns the sizes of the batch.
Dims check_inputs(std::string_view op, const Tensor& query, const Tensor& key, const Tensor& value,
              const Tensor& attn_mask) {
  check(query.ndim() >= 2 && key.ndim() >= 2 && value.ndim() >= 2, op,
        ": expected at least 2 dimensions, got ", query.sizes(), ", ", key.sizes(), " and ",
        value.sizes());
  const DType dtype = query.dtype();
  check_kind(is_floating(dtype), ErrorKind::kNotImplemented, "\"", op, "\" not implemented for '",
             info(dtype).title, "'");
  check(key.dtype() == dtype && value.dtype() == dtype, op, ": expected one dtype, got ",
        name(dtype), ", ", name(key.dtype()), " and ", name(value.dtype()));
  const int64_t width = width_of(query), keys = rows_of(key), value_width = width_of(value);
  check(width_of(key) == width, op, ": query and key have vectors of ", width, " and ",
        width_of(key), " elements");
  check(rows_of(value) == keys, op, ": there are ", keys, " keys but ", rows_of(value), " values");
  check(std::max(width, value_width) <= INT32_MAX, op, ": vectors of ", width, " and ",
        value_width, " elements are too long");
  const Dims batch =
      broadcast_shapes(broadcast_shapes(batch_of(query), batch_of(key)), batch_of(value));
  if (attn_mask)
    check_broadcasts_to(attn_mask.sizes(), with(batch, {rows_of(query), keys}), op);
  return batch;
}

}  // namespace

std::tuple<Tensor, Tensor> attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                     double dropout_p, const Tensor& attn_mask) {
  constexpr std::string_view op = "scaled_dot_product_attention";
  check(dropout_p == 0, op, ": the blocked kernel has no dropout, got ", dropout_p);
  const Dims batch = check_inputs(op, query, key, value, attn_mask);
  const int64_t rows = rows_of(query);
  return {empty(with(batch, {rows, width_of(value)}), query.dtype(), query.device()),
          empty(with(batch, {rows}), sum_dtype(query.dtype()), query.device())};
}

std::tuple<Tensor, Tensor, Tensor> attention_backward(const Tensor& grad_out, const Tensor& query,
                                                      const Tensor& key, const Tensor& value,
                                                      const Tensor& out, const Tensor& logsumexp,
                                                      const Tensor& attn_mask) {
  constexpr std::string_view op = "_scaled_dot_product_flash_attention_for_cpu_backward";
  const Dims batch = check_inputs(op, query, key, value, attn_mask);
  const DType dtype = query.dtype();
  check(is_floating(out.dtype()) && is_floating(grad_out.dtype()) &&
            logsumexp.dtype() == sum_dtype(dtype),
        op, ": expected floating out and grad_out, and logsumexp of ", name(sum_dtype(dtype)),
        ", got ", name(out.dtype()), ", ", name(grad_out.dtype()), " and ",
        name(logsumexp.dtype()));
  const Dims rows = with(batch, {rows_of(query)}), sizes = with(rows, {width_of(value)});
  check(logsumexp.sizes() == rows, op, ": logsumexp has sizes ", logsumexp.sizes(), ", expected ",
        rows);
  check(out.sizes() == sizes && grad_out.sizes() == sizes, op, ": out and grad_out have sizes ",
        out.sizes(), " and ", grad_out.sizes(), ", expected ", sizes);
  const auto gradient = [&](const Tensor& t) {
    return empty(with(batch, {rows_of(t), width_of(t)}), dtype, query.device());
  };
  return {gradient(query), gradient(key), gradient(value)};
}

}  // namespace uh::shapes
