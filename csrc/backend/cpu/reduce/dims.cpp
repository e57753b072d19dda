#include "backend/cpu/reduce/reducer.h"

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

DType sum_compute_dtype(DType dtype) {
  if (is_complex(dtype)) return dtype;
  if (!is_floating(dtype)) return DType::kInt64;
  return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

DType extreme_compute_dtype(DType dtype) {
  if (is_complex(dtype)) no_such_dtype(dtype);  // complex numbers have no order
  switch (dtype) {
    case DType::kBool: return DType::kUInt8;
    case DType::kInt8:
    case DType::kInt16: return DType::kInt32;
    case DType::kFloat16:
    case DType::kBFloat16: return DType::kFloat32;
    default: return dtype;
  }
}

}  // namespace uh
