// The shape rules of reduce.yaml.
#include "ops/reduce/shapes.h"

namespace uh {

ReducedDims::ReducedDims(const Tensor& self, const std::optional<Dims>& dims, std::string_view op)
    : reduced_(static_cast<size_t>(self.ndim()), 0) {
  check(self.ndim() <= 64, op, "(): only tensors with up to 64 dims are supported, got ",
        self.ndim());
  if (!dims || dims->empty()) {
    for (int64_t& flag : reduced_) flag = 1;
    return;
  }
  int64_t seen_scalar = 0;
  for (int64_t dim : *dims) {
    const int64_t d = wrap_dim(dim, self.ndim(), op);
    int64_t& flag = self.ndim() ? reduced_[static_cast<size_t>(d)] : seen_scalar;
    check(flag == 0, op, ": dim ", d, " appears multiple times in the list of dims ", *dims);
    flag = 1;
  }
}

Dims ReducedDims::result_sizes(const Tensor& self, bool keepdim) const {
  Dims sizes;
  for (size_t d = 0; d < reduced_.size(); ++d) {
    if (!has(d))
      sizes.push_back(self.sizes()[d]);
    else if (keepdim)
      sizes.push_back(1);
  }
  return sizes;
}

int64_t ReducedDims::count(const Tensor& self) const {
  int64_t n = 1;
  for (size_t d = 0; d < reduced_.size(); ++d) n *= has(d) ? self.sizes()[d] : 1;
  return n;
}

void ReducedDims::check_not_empty(const Tensor& self, std::string_view op) const {
  for (size_t d = 0; d < reduced_.size(); ++d) {
    check_kind(!has(d) || self.sizes()[d] != 0, ErrorKind::kIndex, op,
               "(): Expected reduction dim ", d, " to have non-zero size, got a tensor of sizes ",
               self.sizes());
  }
}

}  // namespace uh

namespace uh::shapes {
namespace {

// Throws for an empty tensor if `dim` is empty or missing, so that all dimensions are removed.
void check_dim_specified(std::string_view op, const Tensor& self, bool specified,
                         ErrorKind kind = ErrorKind::kRuntime, std::string_view call = "()") {
  check_kind(self.numel() > 0 || specified, kind, op, call,
             ": Expected reduction dim to be specified for input.numel() == 0. Specify the "
             "reduction dim with the 'dim' argument.");
}

}  // namespace

Tensor reduced(std::string_view op, const Tensor& self, const std::optional<Dims>& dim,
               bool keepdim, DType dtype) {
  return empty(ReducedDims(self, dim, op).result_sizes(self, keepdim), dtype, self.device());
}

DType mean_dtype(const Tensor& self, DType dtype) {
  const DType target = or_else(dtype, self.dtype());
  check(is_inexact(target), "mean(): could not infer output dtype. ",
        dtype == DType::kUndefined ? "Input" : "Optional",
        " dtype must be either a floating point or complex dtype. Got: ", info(target).title);
  return target;
}

Tensor mean(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype) {
  return reduced("mean", self, dim, keepdim, mean_dtype(self, dtype));
}

Tensor nansum(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype) {
  check(!is_complex(self.dtype()), "nansum does not support complex inputs");
  const DType target = or_else(dtype, self.dtype());
  check_kind(!is_complex(target), ErrorKind::kNotImplemented,
             "\"nansum_cpu\" not implemented for '", info(target).title, "'");
  const bool may_be_nan = is_floating(self.dtype()) && is_inexact(target);
  return reduced(may_be_nan ? "nansum" : "sum", self, dim, keepdim,
                 or_else(dtype, sum_dtype(self.dtype())));
}

DType nanmean_dtype(const Tensor& self, DType dtype) {
  check(is_inexact(self.dtype()),
        "nanmean(): expected input to have floating point or complex dtype but got ",
        info(self.dtype()).title);
  check(!is_complex(self.dtype()), "nansum does not support complex inputs");
  const DType target = or_else(dtype, self.dtype());
  check(
      is_inexact(target),
      "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or "
      "complex dtype. Got: ",
      info(target).title);
  check(!is_complex(target), "nansum does not support complex inputs");
  return target;
}

Tensor nanmean(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype) {
  return reduced("nanmean", self, dim, keepdim, nanmean_dtype(self, dtype));
}

Tensor extreme(std::string_view op, const Tensor& self, const std::optional<Dims>& dim,
               bool keepdim) {
  const ReducedDims dims(self, dim, op);
  check_dim_specified(op, self, dim && !dim->empty());
  dims.check_not_empty(self, op);
  return empty(dims.result_sizes(self, keepdim), self.dtype(), self.device());
}

std::tuple<Tensor, Tensor> extremes(std::string_view op, const Tensor& self,
                                    const std::optional<Dims>& dim, bool keepdim) {
  return {extreme(op, self, dim, keepdim), extreme(op, self, dim, keepdim)};
}

std::tuple<Tensor, Tensor> extreme_along(std::string_view op, const Tensor& self, int64_t dim,
                                         bool keepdim) {
  const ReducedDims dims(self, Dims{wrap_dim(dim, self.ndim(), op)}, op);
  dims.check_not_empty(self, op);
  check(!is_complex(self.dtype()), op, "(): does not support complex input");
  const Dims sizes = dims.result_sizes(self, keepdim);
  return {empty(sizes, self.dtype(), self.device()), empty(sizes, DType::kInt64, self.device())};
}

Tensor index_of_extreme(std::string_view op, const Tensor& self, std::optional<int64_t> dim,
                        bool keepdim) {
  check(!is_complex(self.dtype()), op, "(): does not support complex input");
  check(self.dtype() != DType::kBool, op, "(): does not support bool input");
  if (dim) {
    const ReducedDims dims(self, Dims{wrap_dim(*dim, self.ndim(), op)}, op);
    dims.check_not_empty(self, op);
    return empty(dims.result_sizes(self, keepdim), DType::kInt64, self.device());
  }
  check_dim_specified(op, self, false, ErrorKind::kIndex);
  return empty(keepdim ? Dims(self.sizes().size(), 1) : Dims(), DType::kInt64, self.device());
}

// An empty list means no dimension here, unlike in other reductions.
Tensor truth(std::string_view op, const Tensor& self, const std::optional<Dims>& dim,
             bool keepdim) {
  const ReducedDims dims(self, dim, op);
  const DType dtype = self.dtype() == DType::kUInt8 ? DType::kUInt8 : DType::kBool;
  const bool all_stay = dim && dim->empty();
  return empty(all_stay ? self.sizes() : dims.result_sizes(self, keepdim), dtype, self.device());
}

Tensor logsumexp(const Tensor& self, const Dims& dim, bool keepdim) {
  const DType dtype = is_inexact(self.dtype()) ? self.dtype() : default_dtype();
  return reduced("logsumexp", self, dim, keepdim, dtype);
}

Tensor hash_tensor(const Tensor& self, const Dims& dim, bool keepdim, int64_t mode) {
  check(mode == 0, "Unknown hash_tensor mode: ", mode);
  const ReducedDims dims(self, dim, "hash_tensor");
  check_dim_specified("hash_tensor", self, !dim.empty(), ErrorKind::kRuntime, "");
  dims.check_not_empty(self, "hash_tensor");
  check_kind(!is_complex(self.dtype()), ErrorKind::kNotImplemented,
             "\"xor_sum_cpu\" not implemented for '", info(self.dtype()).title, "'");
  return empty(dims.result_sizes(self, keepdim), DType::kInt64, self.device());
}

}  // namespace uh::shapes
