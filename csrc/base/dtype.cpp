#include "base/dtype.h"

#include <algorithm>

namespace uh {

DType promote(DType a, DType b) {
  if (a == DType::kUndefined) return b;
  if (b == DType::kUndefined || a == b) return a;
  if (a > b) std::swap(a, b);
  if (is_complex(b)) return a == DType::kFloat64 ? DType::kComplex128 : b;
  if (is_floating(b)) {
    // The two 16-bit floats have different ranges: only float32 covers both.
    if (a == DType::kFloat16 && b == DType::kBFloat16) return DType::kFloat32;
    return b;
  }
  // uint8 with a signed type: int8 cannot represent 255, so int16 is used.
  if (a == DType::kUInt8 && b == DType::kInt8) return DType::kInt16;
  return b;
}

void no_such_dtype(DType dtype) {
  const int code = static_cast<int>(dtype);
  check_kind(code >= 0 && code < kDTypeCount, ErrorKind::kInternal, "unknown dtype code ", code);
  fail(ErrorKind::kNotImplemented, "not implemented for '", info(dtype).title, "'");
}

}  // namespace uh
