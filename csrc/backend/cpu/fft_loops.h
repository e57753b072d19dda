// One pass of a Fourier transform.
//
// `radix` numbers, m * step apart, become their transform of `radix` points, times the pass's
// roots; `step` such butterflies are adjacent (Stockham: the result is in order).
// Invariant: real and imaginary parts are stored separately, so that all lanes of an instruction do
// the same. Forward only: a backward transform swaps the two parts.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

inline constexpr int64_t kMaxFftRadix = 127;
// The length of a row of FftPass::matrix: whole registers.
inline int64_t fft_row(int64_t radix) { return (radix / 2 + 15) / 16 * 16; }

template <class R>
struct FftPass {
  const R *re, *im;
  R *to_re, *to_im;
  const R *root_re, *root_im;  // exp(-2 pi i k q / (m radix)), at [(k - 1) m + q]
  const R *unit_re, *unit_im;  // exp(-2 pi i k / radix)
  // For a transform of one large radix, else null: exp(-2 pi i j k / radix) at [(j - 1)
  // fft_row(radix)
  // + k - 1], for j and k up to radix / 2; the rest of a row is 0.
  const R *matrix_re, *matrix_im;
  int64_t radix, m, step;
};

// A real line of even length n is the complex numbers z = even + i odd, of which there are n / 2,
// with transforms Z, E and O:
//   E[k] = (Z[k] + conj(Z[n/2 - k])) / 2,  O[k] = (Z[k] - conj(Z[n/2 - k])) / 2i,
//   its spectrum[k] = E[k] + exp(-2 pi i k / n) O[k], for k up to n / 2.
template <class R>
struct RealLine {
  const R *root_re, *root_im;  // exp(-2 pi i k / n) for k < half
  int64_t half;                // n / 2
};

template <class R>
struct FftTable {
  void (*pass)(const FftPass<R>&);
  // Splits n contiguous complex numbers into their parts, and joins the parts times `scale`.
  void (*split)(R* re, R* im, const R* from, int64_t n);
  void (*join)(R* to, const R* re, const R* im, int64_t n, R scale);
  // Joins parts that are re_step and im_step numbers apart, as those of other complex numbers are.
  void (*join_apart)(R* to, const R* re, int64_t re_step, const R* im, int64_t im_step, int64_t n);
  // Permutes n rows of `together` numbers: to[q] = from[order[q]], and back: to[order[q]] =
  // from[q].
  void (*gather)(double* to, const R* from, const int64_t* order, int64_t n, int64_t together);
  void (*scatter)(R* to, const double* from, const int64_t* order, int64_t n, int64_t together);
  // Multiplies row q by the complex number factors[q].
  void (*multiply)(double* re, double* im, const double* factors, int64_t n, int64_t together);
  // Computes the spectrum (half + 1 complex numbers) from Z, times `scale`.
  void (*to_spectrum)(const RealLine<R>& line, R* spectrum, const R* re, const R* im, R scale);
  // Computes the n - half - 1 numbers that follow half + 1 of a real line's spectrum.
  void (*mirror)(R* spectrum, int64_t half, int64_t n);
  // The inverse of to_spectrum: computes 2 Z from the parts of the spectrum.
  void (*from_spectrum)(const RealLine<R>& line, R* re, R* im, const R* spectrum_re,
                        const R* spectrum_im);
};

struct FftLoops {
  FftTable<float> f32;
  FftTable<double> f64;

  template <class R>
  const FftTable<R>& of() const {
    if constexpr (sizeof(R) == sizeof(float))
      return f32;
    else
      return f64;
  }
};

UH_PER_ISA(FftLoops, fft_loops)

}  // namespace uh
