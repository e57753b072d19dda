// Discrete Fourier transforms of one dimension, of any length.
//
// What: lengths whose prime factors are small run as Stockham's self-sorting passes of radix 8, 4,
// 2 and each odd prime (backend/cpu/fft_loops.h); others as Bluestein's convolution, over a power
// of two, in double precision. Real and imaginary parts lie apart. Invariant: a Transform is only
// read after it was made, so that threads may share it.
#pragma once

#include <memory>
#include <vector>

#include "base/complex.h"

namespace uh {

template <class R>
class Transform {
 public:
  explicit Transform(int64_t length);
  ~Transform();
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  // One that was made before, if it is still kept: its tables take longer than a short transform.
  static std::shared_ptr<const Transform> of(int64_t length);

  int64_t length() const { return length_; }
  // re + i im becomes its forward transform, in place; `spare` has room for 2 * length. With the
  // two exchanged it is the backward transform. Neither divides by the length.
  void run(R* re, R* im, R* spare) const { run(re, im, spare, 1); }
  // Transforms `together` lines at once: element k of line i at [k together + i]: `spare` has as
  // many times the room. Only where `runs_together`.
  void run(R* re, R* im, R* spare, int64_t together) const;
  bool runs_together() const { return !bluestein_; }

 private:
  struct Bluestein;

  int64_t length_;
  std::vector<int64_t> radices_;
  std::vector<R> root_re_, root_im_;  // pass after pass: see FftPass
  std::vector<R> unit_re_, unit_im_;  // of every radix, one after the other
  std::unique_ptr<Bluestein> bluestein_;
};

// exp(-2 pi i j / n), exact where it is a multiple of a quarter turn.
Complex128 root_of_unity(int64_t j, int64_t n);

extern template class Transform<float>;
extern template class Transform<double>;

}  // namespace uh
