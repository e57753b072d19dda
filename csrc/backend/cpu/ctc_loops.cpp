#include "backend/cpu/ctc_loops.h"

#include <limits>

#include "backend/cpu/math.h"

namespace uh::UH_ISA {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// e^x, but 0 instead of subnormal numbers: libmvec is slow there and at -infinity.
inline double exponential(double x) {
  const bool nothing = x < -708;
  const double e = m::exp(nothing ? 0 : x);
  return nothing ? 0 : e;
}

void step(double* __restrict to, const double* __restrict from, const double* __restrict score,
          const double* __restrict skips, int64_t side, int64_t states) {
  const double *next = from + side, *second = next + side;
  for (int64_t s = 0; s < states; s += kCtcPadding) {
#pragma omp simd
    for (int64_t i = s; i < s + kCtcPadding; ++i) {
      const double a = from[i], b = next[i], c = skips[i] != 0 ? second[i] : kNever;
      const double larger = a > b ? a : b, largest = larger > c ? larger : c;
      const bool never = largest == kNever;
      const double base = never ? 0 : largest;
      const double sum = exponential(a - base) + exponential(b - base) + exponential(c - base);
      const double log = m::log(never ? 1 : sum) + base;
      to[i] = (never ? a + b + c : log) + score[i];  // -infinity or NaN
    }
  }
}

void exponentials(double* __restrict to, const double* __restrict x, int64_t n) {
  for (int64_t s = 0; s < n; s += kCtcPadding) {
#pragma omp simd
    for (int64_t i = s; i < s + kCtcPadding; ++i) to[i] = exponential(x[i]);
  }
}

}  // namespace

const CtcLoops& ctc_loops() {
  static const CtcLoops loops{step, exponentials};
  return loops;
}

}  // namespace uh::UH_ISA
