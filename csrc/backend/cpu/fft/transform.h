// One-dimensional discrete Fourier transforms of any length.
//
// Lengths with prime factors up to 127 use Stockham's self-sorting passes of radix 8, 4, 2 and each
// odd prime (backend/cpu/fft_loops.h). A larger prime p uses Rader's convolution over p - 1
// numbers, if they have such a transform; other lengths use Bluestein's over a power of two. Both
// compute in double precision. Real and imaginary parts are stored separately. Invariant: threads
// may share a Transform: it is immutable after construction, but for roots computed once.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backend/cpu/fft_loops.h"
#include "base/complex.h"

namespace uh {

template <class R>
class Transform {
 public:
  explicit Transform(int64_t length);
  ~Transform();
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  // Returns a transform, cached if possible: its tables cost more than a short transform.
  static std::shared_ptr<const Transform> of(int64_t length);

  int64_t length() const { return length_; }
  // Replaces re + i im by its forward transform; `spare` has room for 2 * length. With the two
  // swapped it is the backward transform. Neither divides by the length.
  void run(R* re, R* im, R* spare) const { run(re, im, spare, 1); }
  // Transforms `together` lines at once: element k of line i is at [k together + i]; `spare` needs
  // that many times the room. Only if `runs_together`.
  void run(R* re, R* im, R* spare, int64_t together) const;
  bool runs_together() const { return !bluestein_; }

  // For a real line of twice the length: its roots are computed when they are first needed.
  RealLine<R> real_line() const;

 private:
  struct Bluestein;
  struct Rader;

  int64_t length_;
  std::vector<int64_t> radices_;
  std::vector<R> root_re_, root_im_;  // all passes in order: see FftPass
  std::vector<R> unit_re_, unit_im_;  // all radices in order
  struct alignas(64) CacheLine {      // no register's numbers are in two
    R numbers[64 / sizeof(R)];
  };
  std::vector<CacheLine> matrix_re_, matrix_im_;  // see FftPass
  std::unique_ptr<Bluestein> bluestein_;
  std::unique_ptr<Rader> rader_;
  mutable std::once_flag real_once_;
  mutable std::vector<R> real_re_, real_im_;
};

// exp(-2 pi i j / n), exact at multiples of a quarter turn.
Complex128 root_of_unity(int64_t j, int64_t n);

extern template class Transform<float>;
extern template class Transform<double>;

}  // namespace uh
