#include "ops/search/shapes.h"

#include <limits>

namespace uh {

Tensor empty_number(const Scalar& value, Device device) {
  Tensor out = empty(Dims(), value.dtype(default_dtype()), device);
  out.impl()->set_wrapped_number(true);
  return out;
}

DType search_dtype(const Tensor& a, const Tensor& b) {
  const auto rank = [](const Tensor& t) {
    return t.impl()->wrapped_number() ? 0 : t.ndim() == 0 ? 1 : 2;
  };
  if (rank(a) != rank(b)) {
    const Tensor &strong = rank(a) > rank(b) ? a : b, &weak = rank(a) > rank(b) ? b : a;
    if (category(weak.dtype()) <= category(strong.dtype())) return strong.dtype();
    if (weak.impl()->wrapped_number() && is_inexact(weak.dtype())) return default_dtype();
  }
  return promote(a.dtype(), b.dtype());
}

}  // namespace uh

namespace uh::shapes {
namespace {

bool matches_before_last(const Tensor& a, const Tensor& b) {
  if (a.ndim() != b.ndim()) return false;
  for (int64_t d = 0; d + 1 < a.ndim(); ++d) {
    if (a.size(d) != b.size(d)) return false;
  }
  return true;
}

void check_sorter(const Tensor& boundaries, const Tensor& sorter, const char* op) {
  check(sorter.sizes() == boundaries.sizes(), op,
        "(): boundary and sorter must have the same size, but got boundary tensor ",
        boundaries.sizes(), " and got sorter tensor ", sorter.sizes());
  check(sorter.dtype() == DType::kInt64, op, "(): sorter must be a tensor of long dtype but got ",
        name(sorter.dtype()));
}

// Checks the arguments of a search, and allocates a position for each of `values`.
Tensor positions(const char* op, const Tensor& boundaries, const Tensor& values, bool out_int32,
                 const Tensor& sorter) {
  const Device device = boundaries.device();
  check(boundaries.ndim() > 0, op,
        "(): boundaries tensor should have positive dimension, but got 0 dimension");
  check(values.ndim() > 0 || boundaries.ndim() == 1, op,
        "(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
        "boundaries tensor dim(",
        boundaries.ndim(), ")");
  const bool number = values.impl()->wrapped_number();
  check(number || (device == values.device() && (!sorter || sorter.device() == device)), op,
        "(): boundaries, input value and sorter tensors should be on the same device, found ",
        name(device), " and ", name(values.device()));
  check(boundaries.ndim() == 1 || matches_before_last(boundaries, values), op,
        "(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
        "tensor and input value tensor must match, but we got boundaries tensor ",
        boundaries.sizes(), " and input value tensor ", values.sizes());
  check(!out_int32 || boundaries.sizes().back() < std::numeric_limits<int32_t>::max(), op,
        "(): the size of boundaries' last dimension should be less than ",
        std::numeric_limits<int32_t>::max(), ", but we got ", boundaries.sizes().back());
  if (sorter) check_sorter(boundaries, sorter, op);
  const DType compared = search_dtype(boundaries, values);
  check_kind(compared != DType::kBool && !is_complex(compared), ErrorKind::kNotImplemented, "\"",
             op, "_out_cpu\" not implemented for '", info(compared).title, "'");
  return empty(values.sizes(), out_int32 ? DType::kInt32 : DType::kInt64, device);
}

void check_side(bool right, const std::optional<std::string>& side) {
  if (!side) return;
  check(*side == "left" || *side == "right",
        "searchsorted(): side can only be 'left' or 'right' but got ", *side);
  check(!right || *side == "right",
        "searchsorted(): side and right can't be set to opposites, got side of ", *side,
        " while right was True");
}

Tensor truths(const Dims& sizes, DType elements, DType tests, Device device) {
  for (const DType dtype : {elements, tests})
    check(dtype != DType::kBool && !is_complex(dtype),
          "isin(): Unsupported input type encountered: ", info(dtype).title);
  return empty(sizes, DType::kBool, device);
}

}  // namespace

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right,
                    const std::optional<std::string>& side, const Tensor& sorter) {
  check_side(right, side);
  return positions("searchsorted", sorted_sequence, self, out_int32, sorter);
}

Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right,
                    const std::optional<std::string>& side, const Tensor& sorter) {
  return searchsorted(sorted_sequence, empty_number(self, Device::kMeta), out_int32, right, side,
                      sorter);
}

Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32) {
  check(boundaries.ndim() == 1, "bucketize(): boundaries tensor must be 1 dimension, but got dim(",
        boundaries.ndim(), ")");
  return positions("bucketize", boundaries, self, out_int32, Tensor());
}

Tensor bucketize(const Scalar& self, const Tensor& boundaries, bool out_int32) {
  return bucketize(empty_number(self, Device::kMeta), boundaries, out_int32);
}

Tensor isin(const Tensor& elements, const Tensor& test_elements) {
  return truths(elements.sizes(), elements.dtype(), test_elements.dtype(), elements.device());
}

Tensor isin(const Tensor& elements, const Scalar& test_element) {
  return truths(elements.sizes(), elements.dtype(), test_element.dtype(default_dtype()),
                elements.device());
}

Tensor isin(const Scalar& element, const Tensor& test_elements) {
  return truths({}, element.dtype(default_dtype()), test_elements.dtype(), test_elements.device());
}

}  // namespace uh::shapes
