#include "base/shape.h"

namespace uh {

std::string to_string(IntSpan values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i) text += ", ";
    text += std::to_string(values[i]);
  }
  return text + "]";
}

int64_t checked_numel(IntSpan sizes, std::string_view op) {
  int64_t n = 1;
  bool overflow = false;
  bool zero = false;
  for (int64_t s : sizes) {
    check(s >= 0, op, ": trying to create tensor with negative dimension ", s, ": ",
          printed(sizes));
    zero = zero || s == 0;
    // Checked for empty tensors too, as in NumPy: strides are products of the other sizes.
    overflow = __builtin_mul_overflow(n, s ? s : 1, &n) || overflow;
  }
  check(!overflow, op, ": storage size calculation overflowed with sizes=", printed(sizes));
  return zero ? 0 : n;
}

Dims contiguous_strides(IntSpan sizes) {
  Dims strides(sizes.size());
  uint64_t step = 1;  // may wrap around: the allocation rejects such sizes
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(step);
    step *= sizes[i] > 1 ? static_cast<uint64_t>(sizes[i]) : 1;
  }
  return strides;
}

int64_t wrap_dim(int64_t dim, int64_t ndim, std::string_view op) {
  const int64_t rank = ndim == 0 ? 1 : ndim;
  if (dim < -rank || dim >= rank) {
    fail(ErrorKind::kIndex, op, op.empty() ? "" : ": ",
         "dimension out of range (expected to be in range of [", -rank, ", ", rank - 1,
         "], but got ", dim, ")");
  }
  return dim < 0 ? dim + rank : dim;
}

Dims broadcast_shapes(IntSpan a, IntSpan b) {
  const bool a_longer = a.size() >= b.size();
  Dims out(a_longer ? a : b);
  const IntSpan shorter = a_longer ? b : a;
  const size_t shift = out.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = out[i + shift];
    const int64_t other = shorter[i];
    if (size == other || other == 1) continue;
    if (size == 1) {
      size = other;
      continue;
    }
    const int64_t x = a_longer ? size : other;
    const int64_t y = a_longer ? other : size;
    fail(ErrorKind::kRuntime, "The size of tensor a (", x, ") must match the size of tensor b (", y,
         ") at non-singleton dimension ", i + shift, ": ", printed(a), " and ", printed(b));
  }
  return out;
}

}  // namespace uh
