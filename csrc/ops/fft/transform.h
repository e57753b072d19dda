// Discrete Fourier transforms of one dimension, of any length.
//
// What: lengths whose prime factors are small run as Stockham's self-sorting passes of radix 4, 2
// and each odd prime; others as Bluestein's convolution, over a power of two, in double precision.
// Invariant: a Transform is only read after it was made, so that threads may share it.
#pragma once

#include <memory>
#include <vector>

#include "base/complex.h"

namespace uh {

template <class R>
class Transform {
 public:
  // sign: -1 forward, +1 backward. Neither divides by the length.
  Transform(int64_t length, int sign);
  ~Transform();
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  // Replaces the `length` elements at `data`; `spare` has room for as many.
  void run(Complex<R>* data, Complex<R>* spare) const;

 private:
  struct Bluestein;

  int64_t length_;
  std::vector<int64_t> radices_;
  std::vector<Complex<R>> roots_;  // exp(sign 2 pi i j / length)
  std::unique_ptr<Bluestein> bluestein_;
};

extern template class Transform<float>;
extern template class Transform<double>;

}  // namespace uh
