#include "jit/builtins/numbers.h"

#include <algorithm>
#include <bit>

namespace uh::jit::python {
namespace {

// Let q = |a| / |b|, rounded to a float and then down to an integer: q is the quotient, or one more
// if rounding went up. |a| - q|b| is representable either way, so an FMA computes it exactly, and
// adding |b| once corrects the second case.
#if defined(__x86_64__)
__attribute__((target("fma")))
#endif
double
quick_rest(double a, double b) {
  const double x = std::abs(a), y = std::abs(b);
  if (x < y) return a;
  const double integral = std::trunc(x / y);
  if (!(integral < 0x1p53)) return std::fmod(a, b);
  const double left = __builtin_fma(-integral, y, x);
  return std::copysign(left < 0 ? left + y : left, a);
}

bool joins() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma");
#elif defined(__FP_FAST_FMA)
  return true;
#else
  return false;
#endif
}

}  // namespace

double fast_fmod(double a, double b) {
  static const bool quick = joins();
  return quick ? quick_rest(a, b) : std::fmod(a, b);
}

// Binary GCD, without division: subtracts the smaller number and removes factors of two.
int64_t gcd(int64_t a, int64_t b) {
  auto x = static_cast<uint64_t>(a < 0 ? neg(a) : a), y = static_cast<uint64_t>(b < 0 ? neg(b) : b);
  if (x == 0 || y == 0) return static_cast<int64_t>(x | y);
  const int both = std::countr_zero(x | y);
  x >>= std::countr_zero(x);
  y >>= std::countr_zero(y);
  while (x != y) {
    const uint64_t less = std::min(x, y), gap = x > y ? x - y : y - x;
    x = less;
    y = gap >> std::countr_zero(gap);
  }
  return static_cast<int64_t>(x << both);
}

}  // namespace uh::jit::python
