// Predicates of types: kinds of numbers, and tensors whose sizes or strides are all
// known.
#pragma once

#include <algorithm>
#include <optional>

#include "jit/ir/type.h"

namespace uh::jit {

inline bool is_number(const Type& type) {
  return type.is(TypeKind::kInt) || type.is(TypeKind::kFloat) || type.is(TypeKind::kBool) ||
         type.is(TypeKind::kComplex) || type.is(TypeKind::kNumber);
}

// True if no size or stride is -1, unknown.
inline bool all_known(const std::optional<Dims>& dims) {
  return dims && std::none_of(dims->begin(), dims->end(), [](int64_t n) { return n < 0; });
}

}  // namespace uh::jit
