// The shape rules of segment_reduce and its gradient.
#include "ops/scatter/segments.h"

#include "ops/scatter/reduction.h"
#include "ops/scatter/shapes.h"

namespace uh {

Fused segment_word(const std::string& reduce) {
  if (reduce == "sum") return Fused::kSum;
  if (reduce == "mean") return Fused::kMean;
  if (reduce == "max" || reduce == "amax") return Fused::kMax;
  if (reduce == "min" || reduce == "amin") return Fused::kMin;
  check(reduce == "prod", "segment_reduce(): reduce argument must be either sum, prod, mean, amax ",
        "or amin, got ", reduce);
  return Fused::kProd;
}

SegmentPlan plan_segments(const Tensor& data, const Tensor& lengths, const Tensor& offsets,
                          int64_t axis) {
  const std::string_view op = "segment_reduce";
  check(lengths || offsets, op, "(): Either lengths or offsets must be defined.");
  const int64_t dim = wrap_dim(axis, data.ndim(), op);
  const Tensor& recorded = offsets ? offsets : lengths;
  check_kind(recorded.dtype() == DType::kInt64 || recorded.dtype() == DType::kInt32,
             ErrorKind::kNotImplemented, "\"", op, "\" not implemented for lengths or offsets of '",
             info(recorded.dtype()).title, "'");
  check(recorded.ndim() == dim + 1, op, "(): Expected axis to be the last dimension of ",
        offsets ? "offsets" : "lengths", " but got ", axis, ".");
  SegmentPlan plan;
  const int64_t numbers = recorded.size(dim);
  check(!offsets || numbers > 0, op, "(): offsets need at least one number");
  plan.segments = offsets ? numbers - 1 : numbers;
  plan.n = data.size(dim);
  plan.sizes = data.sizes();
  plan.sizes[static_cast<size_t>(dim)] = plan.segments;
  for (int64_t d = 0; d < data.ndim(); ++d) {
    if (d == dim) continue;
    (d < dim ? plan.outer : plan.inner) *= data.size(d);
    check(d > dim || recorded.size(d) == data.size(d), op, "(): ", offsets ? "offsets" : "lengths",
          " of sizes ", recorded.sizes(), " do not go with data of sizes ", data.sizes());
  }
  return plan;
}

namespace shapes {
namespace {

void check_dtype(const Tensor& data) {
  check_kind(is_floating(data.dtype()), ErrorKind::kNotImplemented,
             "\"segment_reduce\" not implemented for '", info(data.dtype()).title, "'");
}

}  // namespace

Tensor segment_reduce(const Tensor& data, const std::string& reduce, const Tensor& lengths,
                      const Tensor& indices, const Tensor& offsets, int64_t axis) {
  segment_word(reduce);
  check_dtype(data);
  check(!indices, "segment_reduce(): indices based reduction is not supported yet.");
  return empty(plan_segments(data, lengths, offsets, axis).sizes, data.dtype(), data.device());
}

Tensor segment_reduce_backward(const Tensor& grad, const Tensor& output, const Tensor& data,
                               const std::string& reduce, const Tensor& lengths,
                               const Tensor& offsets, int64_t axis) {
  segment_word(reduce);
  check_dtype(data);
  const SegmentPlan plan = plan_segments(data, lengths, offsets, axis);
  check(grad.sizes() == plan.sizes && output.sizes() == plan.sizes,
        "_segment_reduce_backward: expected grad and output of sizes ", plan.sizes, ", got ",
        grad.sizes(), " and ", output.sizes());
  return empty(data.sizes(), data.dtype(), data.device());
}

}  // namespace shapes
}  // namespace uh
