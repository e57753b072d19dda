// Predicates of types: whether they are numbers, and whether all is known of the
// sizes or strides of a tensor.
#pragma once

#include <algorithm>
#include <optional>

#include "jit/ir/type.h"

namespace uh::jit {

inline bool is_number(const Type& type) {
  return type.is(TypeKind::kInt) || type.is(TypeKind::kFloat) || type.is(TypeKind::kBool) ||
         type.is(TypeKind::kComplex) || type.is(TypeKind::kNumber);
}

// A size or stride of -1 is not known.
inline bool all_known(const std::optional<Dims>& dims) {
  return dims && std::none_of(dims->begin(), dims->end(), [](int64_t n) { return n < 0; });
}

}  // namespace uh::jit
