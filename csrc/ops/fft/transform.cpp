#include "ops/fft/transform.h"

#include <cmath>

namespace uh {
namespace {

constexpr int64_t kLargestRadix = 61;

// exp(sign 2 pi i j / n), exact where it is a multiple of a quarter turn.
template <class R>
Complex<R> root_of_unity(int64_t j, int64_t n, int sign) {
  if (j == 0) return {R(1), R(0)};
  if (2 * j == n) return {R(-1), R(0)};
  if (4 * j == n) return {R(0), R(sign)};
  if (4 * j == 3 * n) return {R(0), R(-sign)};
  const double angle = 2 * 3.14159265358979323846 * static_cast<double>(j) / static_cast<double>(n);
  return {static_cast<R>(std::cos(angle)), static_cast<R>(sign * std::sin(angle))};
}

// The radices whose product is n; empty when a prime factor is too large for a pass.
std::vector<int64_t> factors(int64_t n) {
  std::vector<int64_t> found;
  for (int64_t p : {4, 2}) {
    while (n % p == 0) {
      found.push_back(p);
      n /= p;
    }
  }
  for (int64_t p = 3; p <= kLargestRadix && p * p <= n; p += 2) {
    while (n % p == 0) {
      found.push_back(p);
      n /= p;
    }
  }
  if (n > kLargestRadix) return {};
  if (n > 1) found.push_back(n);
  return found;
}

// A quarter turn in the direction of `sign`.
template <class R>
Complex<R> turned(Complex<R> v, int sign) {
  return sign < 0 ? Complex<R>(v.im, -v.re) : Complex<R>(-v.im, v.re);
}

}  // namespace

// x * chirp, convolved with the conjugate chirp: a transform of any length by two of length 2^k.
template <class R>
struct Transform<R>::Bluestein {
  int64_t length, padded;
  std::vector<Complex128> chirp, spectrum;
  Transform<double> forward, backward;

  static int64_t power_of_two(int64_t least) {
    int64_t n = 1;
    while (n < least) n *= 2;
    return n;
  }

  Bluestein(int64_t n, int sign)
      : length(n),
        padded(power_of_two(2 * n - 1)),
        chirp(static_cast<size_t>(n)),
        spectrum(static_cast<size_t>(padded)),
        forward(padded, -1),
        backward(padded, 1) {
    int64_t square = 0;  // k^2 modulo 2n
    for (int64_t k = 0; k < n; ++k) {
      chirp[static_cast<size_t>(k)] = root_of_unity<double>(square, 2 * n, sign);
      square = (square + 2 * k + 1) % (2 * n);
    }
    const double scale = 1 / static_cast<double>(padded);
    for (int64_t k = 0; k < n; ++k) {
      const Complex128 value = conj(chirp[static_cast<size_t>(k)]) * scale;
      spectrum[static_cast<size_t>(k)] = value;
      if (k) spectrum[static_cast<size_t>(padded - k)] = value;
    }
    std::vector<Complex128> spare(spectrum.size());
    forward.run(spectrum.data(), spare.data());
  }

  void run(Complex<R>* data) const {
    std::vector<Complex128> work(spectrum.size()), spare(spectrum.size());
    for (size_t k = 0; k < chirp.size(); ++k) work[k] = Complex128(data[k]) * chirp[k];
    forward.run(work.data(), spare.data());
    for (size_t k = 0; k < work.size(); ++k) work[k] = work[k] * spectrum[k];
    backward.run(work.data(), spare.data());
    for (size_t k = 0; k < chirp.size(); ++k) data[k] = Complex<R>(work[k] * chirp[k]);
  }
};

template <class R>
Transform<R>::Transform(int64_t length, int sign) : length_(length), radices_(factors(length)) {
  if (length_ <= 1) return;
  if (radices_.empty()) {
    bluestein_ = std::make_unique<Bluestein>(length, sign);
    return;
  }
  roots_.resize(static_cast<size_t>(length));
  for (int64_t j = 0; j < length; ++j)
    roots_[static_cast<size_t>(j)] = root_of_unity<R>(j, length, sign);
}

template <class R>
Transform<R>::~Transform() = default;

template <class R>
void Transform<R>::run(Complex<R>* data, Complex<R>* spare) const {
  using C = Complex<R>;
  if (length_ <= 1) return;
  if (bluestein_) return bluestein_->run(data);
  C *x = data, *y = spare;
  const C* roots = roots_.data();
  const int sign = length_ % 4 == 0 ? (roots[length_ / 4].im < 0 ? -1 : 1) : 0;
  // Each pass splits `n` into radix x m; `step` results of the passes before lie side by side.
  int64_t n = length_, step = 1;
  for (const int64_t radix : radices_) {
    const int64_t m = n / radix, turn = length_ / n, unit = length_ / radix;
    for (int64_t q = 0; q < m; ++q) {
      const C* from = x + step * q;
      C* to = y + step * radix * q;
      if (radix == 2) {
        const C w = roots[q * turn];
        for (int64_t t = 0; t < step; ++t) {
          const C a = from[t], b = from[t + step * m];
          to[t] = a + b;
          to[t + step] = (a - b) * w;
        }
      } else if (radix == 4) {
        const C w1 = roots[q * turn], w2 = roots[2 * q * turn], w3 = roots[3 * q * turn];
        for (int64_t t = 0; t < step; ++t) {
          const C a = from[t], b = from[t + step * m], c = from[t + 2 * step * m],
                  d = from[t + 3 * step * m];
          const C even = a + c, odd = b + d, other = a - c, cross = turned(b - d, sign);
          to[t] = even + odd;
          to[t + step] = (other + cross) * w1;
          to[t + 2 * step] = (even - odd) * w2;
          to[t + 3 * step] = (other - cross) * w3;
        }
      } else {
        for (int64_t k = 0; k < radix; ++k) {
          const C w = roots[q * k * turn];
          for (int64_t t = 0; t < step; ++t) {
            C sum = from[t];
            int64_t at = 0;  // r k modulo radix
            for (int64_t r = 1; r < radix; ++r) {
              at += k;
              if (at >= radix) at -= radix;
              sum += from[t + r * step * m] * roots[at * unit];
            }
            to[t + k * step] = sum * w;
          }
        }
      }
    }
    std::swap(x, y);
    n = m;
    step *= radix;
  }
  if (x != data) std::copy(x, x + length_, data);
}

template class Transform<float>;
template class Transform<double>;

}  // namespace uh
