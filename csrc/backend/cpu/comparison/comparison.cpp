// The kernels of comparison.yaml that are not an expression.
#include "generated/kernels/comparison.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "base/parallel.h"
#include "generated/pointwise/comparison.h"

namespace uh::kernels {
namespace {

constexpr int64_t kBlock = 4096;

// Compares in blocks: within one there is no branch, so that the compiler vectorises it.
template <class T>
bool all_equal(const T* a, const T* b, int64_t n) {
  if constexpr (std::is_integral_v<T>) {
    return std::memcmp(a, b, static_cast<size_t>(n) * sizeof(T)) == 0;
  } else if constexpr (is_complex_v<T>) {
    using Part = typename T::Real;
    return all_equal(reinterpret_cast<const Part*>(a), reinterpret_cast<const Part*>(b), 2 * n);
  } else {
    using Flag = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t end = std::min(n, begin + kBlock);
      Flag differs = 0;
      for (int64_t i = begin; i < end; ++i) differs |= a[i] == b[i] ? Flag{0} : Flag{1};
      if (differs) return false;
    }
    return true;
  }
}

}  // namespace

bool equal_in_memory(KeySet keys, const Tensor& self, const Tensor& other) {
  if (!(self.sizes() == other.sizes())) return false;
  if (self.dtype() != other.dtype() || !self.is_contiguous() || !other.is_contiguous() ||
      self.is_sparse() || other.is_sparse() || self.device() != other.device())
    return equal(keys, self, other);
  std::atomic<bool> result = true;
  visit_any(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *a = self.data_as<T>(), *b = other.data_as<T>();
    parallel_for(0, self.numel(), 8 * kBlock, [&](int64_t lo, int64_t hi) {
      if (result && !all_equal(a + lo, b + lo, hi - lo)) result = false;
    });
  });
  return result;
}

void nan_to_num_into(KeySet, const Tensor& self, std::optional<double> nan,
                     std::optional<double> posinf, std::optional<double> neginf) {
  if (!is_inexact(self.dtype())) return;  // nothing to replace, so nothing is written
  run_pointwise(k_nan_to_num, Form::kInplace, std::array{Input(self)},
                Params({nan, posinf, neginf}), self);
}

}  // namespace uh::kernels
