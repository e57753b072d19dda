// Shape rules of search.yaml.
#pragma once

#include <optional>
#include <string>

#include "tensor/tensor.h"

namespace uh {

// Returns a number as a 0-d tensor, not yet written, that does not promote a tensor of the same
// category.
Tensor empty_number(const Scalar& value, Device device);
// Returns the dtype in which a tensor and the searched values are compared.
DType search_dtype(const Tensor& a, const Tensor& b);

}  // namespace uh

namespace uh::shapes {

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right,
                    const std::optional<std::string>& side, const Tensor& sorter);
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right,
                    const std::optional<std::string>& side, const Tensor& sorter);
Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32);
Tensor bucketize(const Scalar& self, const Tensor& boundaries, bool out_int32);
Tensor isin(const Tensor& elements, const Tensor& test_elements);
Tensor isin(const Tensor& elements, const Scalar& test_element);
Tensor isin(const Scalar& element, const Tensor& test_elements);

}  // namespace uh::shapes
