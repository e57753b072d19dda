#include "backend/cpu/fft/transform.h"

#include <algorithm>
#include <cmath>

namespace uh {
namespace {

// Returns radices whose product is n, powers of two first, so that later passes have long rows.
// Empty if a prime factor is too large for a pass.
std::vector<int64_t> factors(int64_t n) {
  std::vector<int64_t> result;
  int64_t twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  int64_t eights = twos / 3;
  if (twos % 3 == 1 && eights > 0) --eights;  // 4 4 is faster than 8 2
  twos -= 3 * eights;
  result.assign(static_cast<size_t>(eights), 8);
  for (; twos >= 2; twos -= 2) result.push_back(4);
  if (twos) result.push_back(2);
  for (int64_t p = 3; p <= kMaxFftRadix && p * p <= n; p += 2) {
    while (n % p == 0) {
      result.push_back(p);
      n /= p;
    }
  }
  if (n > kMaxFftRadix) return {};
  if (n > 1) result.push_back(n);
  return result;
}

constexpr int64_t kMaxRader = 1 << 20;     // beyond, a generator takes long to find
constexpr int64_t kMaxUnrolledRadix = 13;  // the loops have larger radices as matrices
constexpr int64_t kKept = 1 << 20;         // points of all cached transforms
constexpr size_t kKeptCount = 64;

}  // namespace

Complex128 root_of_unity(int64_t j, int64_t n) {
  if (j == 0) return {1, 0};
  if (2 * j == n) return {-1, 0};
  if (4 * j == n) return {0, -1};
  if (4 * j == 3 * n) return {0, 1};
  const double angle = 2 * 3.14159265358979323846 * static_cast<double>(j) / static_cast<double>(n);
  return {std::cos(angle), -std::sin(angle)};
}

// x * chirp, convolved with the conjugate chirp: any length by two transforms of length 2^k.
template <class R>
struct Transform<R>::Bluestein {
  int64_t length, padded;
  std::vector<Complex128> chirp, spectrum;
  Transform<double> power;

  static int64_t power_of_two(int64_t min_value) {
    int64_t n = 1;
    while (n < min_value) n *= 2;
    return n;
  }

  explicit Bluestein(int64_t n)
      : length(n),
        padded(power_of_two(2 * n - 1)),
        chirp(static_cast<size_t>(n)),
        spectrum(static_cast<size_t>(padded)),
        power(padded) {
    int64_t square = 0;  // k^2 modulo 2n
    for (int64_t k = 0; k < n; ++k) {
      chirp[static_cast<size_t>(k)] = root_of_unity(square, 2 * n);
      square = (square + 2 * k + 1) % (2 * n);
    }
    const double scale = 1 / static_cast<double>(padded);
    std::vector<double> re(spectrum.size()), im(spectrum.size()), spare(2 * spectrum.size());
    for (int64_t k = 0; k < n; ++k) {
      const Complex128 value = conj(chirp[static_cast<size_t>(k)]) * scale;
      for (const int64_t at : {k, (padded - k) % padded}) {
        re[static_cast<size_t>(at)] = value.re;
        im[static_cast<size_t>(at)] = value.im;
      }
    }
    power.run(re.data(), im.data(), spare.data());
    for (size_t k = 0; k < spectrum.size(); ++k) spectrum[k] = {re[k], im[k]};
  }

  void run(R* data_re, R* data_im) const {
    const size_t n = spectrum.size();
    std::vector<double> re(n), im(n), spare(2 * n);
    for (size_t k = 0; k < chirp.size(); ++k) {
      const Complex128 value = Complex128(data_re[k], data_im[k]) * chirp[k];
      re[k] = value.re;
      im[k] = value.im;
    }
    power.run(re.data(), im.data(), spare.data());
    for (size_t k = 0; k < n; ++k) {
      const Complex128 value = Complex128(re[k], im[k]) * spectrum[k];
      re[k] = value.re;
      im[k] = value.im;
    }
    power.run(im.data(), re.data(), spare.data());  // backward
    for (size_t k = 0; k < chirp.size(); ++k) {
      const Complex128 value = Complex128(re[k], im[k]) * chirp[k];
      data_re[k] = static_cast<R>(value.re);
      data_im[k] = static_cast<R>(value.im);
    }
  }
};

// A generator of the numbers 1 ... p - 1 under multiplication modulo p; 0 if p is not a prime.
int64_t primitive_root(int64_t p) {
  for (int64_t root = 2; root < p; ++root) {
    int64_t order = 1;
    for (int64_t power = root; power != 1; power = power * root % p, ++order)
      if (power == 0 || order == p) return 0;
    if (order == p - 1) return root;
  }
  return 0;
}

// A prime length: in the order of the powers of a generator, all results but the first are a cyclic
// convolution of all numbers but the first.
template <class R>
struct Transform<R>::Rader {
  int64_t length, points;         // points: length - 1
  std::vector<int64_t> from, to;  // where the powers of the generator and of its inverse are
  std::vector<Complex128> spectrum;
  std::shared_ptr<const Transform<double>> cyclic;

  explicit Rader(int64_t n, int64_t root)
      : length(n), points(n - 1), cyclic(Transform<double>::of(n - 1)) {
    int64_t power = 1;
    for (int64_t q = 0; q < points; ++q, power = power * root % n) from.push_back(power);
    for (int64_t q = 0; q < points; ++q)
      to.push_back(from[static_cast<size_t>((points - q) % points)]);
    const auto size = static_cast<size_t>(points);
    std::vector<double> re(size), im(size), spare(2 * size);
    for (size_t q = 0; q < size; ++q) {
      const Complex128 value = root_of_unity(to[q], n) * (1 / static_cast<double>(points));
      re[q] = value.re;
      im[q] = value.im;
    }
    cyclic->run(re.data(), im.data(), spare.data());
    for (size_t q = 0; q < size; ++q) spectrum.push_back({re[q], im[q]});
  }

  void run(R* data_re, R* data_im, int64_t together) const {
    const int64_t count = points * together;
    const auto room = std::make_unique_for_overwrite<double[]>(static_cast<size_t>(4 * count));
    double *const re = room.get(), *const im = re + count, *const spare = im + count;
    const FftTable<R>& loops = fft_loops().of<R>();
    loops.gather(re, data_re, from.data(), points, together);
    loops.gather(im, data_im, from.data(), points, together);
    cyclic->run(re, im, spare, together);
    // The first row of the transform is the sum of the others, to which the first number is added;
    // and that number is added to all results.
    const std::vector<double> sums_re(re, re + together), sums_im(im, im + together);
    loops.multiply(re, im, &spectrum[0].re, points, together);
    for (int64_t i = 0; i < together; ++i) {
      const auto first_re = static_cast<double>(data_re[i]),
                 first_im = static_cast<double>(data_im[i]);
      re[i] += first_re;
      im[i] += first_im;
      data_re[i] = static_cast<R>(first_re + sums_re[static_cast<size_t>(i)]);
      data_im[i] = static_cast<R>(first_im + sums_im[static_cast<size_t>(i)]);
    }
    cyclic->run(im, re, spare, together);  // backward
    loops.scatter(data_re, re, to.data(), points, together);
    loops.scatter(data_im, im, to.data(), points, together);
  }
};

template <class R>
Transform<R>::Transform(int64_t length) : length_(length), radices_(factors(length)) {
  if (length_ <= 1) return;
  if (radices_.empty()) {
    const bool convolves = length <= kMaxRader && !factors(length - 1).empty();
    if (const int64_t root = convolves ? primitive_root(length) : 0) {
      rader_ = std::make_unique<Rader>(length, root);
      return;
    }
    bluestein_ = std::make_unique<Bluestein>(length);
    return;
  }
  int64_t n = length_;
  for (const int64_t radix : radices_) {
    const int64_t m = n / radix;
    for (int64_t k = 1; k < radix; ++k) {
      for (int64_t q = 0; q < m; ++q) {
        const Complex128 root = root_of_unity(k * q, n);
        root_re_.push_back(static_cast<R>(root.re));
        root_im_.push_back(static_cast<R>(root.im));
      }
    }
    for (int64_t k = 0; k < radix; ++k) {
      const Complex128 unit = root_of_unity(k, radix);
      unit_re_.push_back(static_cast<R>(unit.re));
      unit_im_.push_back(static_cast<R>(unit.im));
    }
    n = m;
  }
  if (radices_.size() > 1 || length_ <= kMaxUnrolledRadix) return;
  const int64_t row = fft_row(length_), pairs = length_ / 2;
  matrix_re_.resize(static_cast<size_t>(row * pairs) * sizeof(R) / sizeof(CacheLine));
  matrix_im_.resize(matrix_re_.size());
  R *const matrix_re = matrix_re_.front().numbers, *const matrix_im = matrix_im_.front().numbers;
  for (int64_t j = 0; j < pairs; ++j) {
    for (int64_t k = 0; k < pairs; ++k) {
      const auto unit = static_cast<size_t>((j + 1) * (k + 1) % length_);
      matrix_re[j * row + k] = unit_re_[unit];
      matrix_im[j * row + k] = unit_im_[unit];
    }
  }
}

template <class R>
Transform<R>::~Transform() = default;

template <class R>
void Transform<R>::run(R* re, R* im, R* spare, int64_t together) const {
  if (length_ <= 1) return;
  if (bluestein_) return bluestein_->run(re, im);
  if (rader_) return rader_->run(re, im, together);
  R *from_re = re, *from_im = im, *to_re = spare, *to_im = spare + length_ * together;
  const R *root_re = root_re_.data(), *root_im = root_im_.data();
  const R *unit_re = unit_re_.data(), *unit_im = unit_im_.data();
  const bool has_matrix = !matrix_re_.empty();
  const R* const matrix_re = has_matrix ? matrix_re_.front().numbers : nullptr;
  const R* const matrix_im = has_matrix ? matrix_im_.front().numbers : nullptr;
  // Each pass splits `n` into radix x m; `step` results of the earlier passes are adjacent.
  int64_t n = length_, step = together;
  for (const int64_t radix : radices_) {
    const int64_t m = n / radix;
    fft_loops().of<R>().pass(FftPass<R>{from_re, from_im, to_re, to_im, root_re, root_im, unit_re,
                                        unit_im, matrix_re, matrix_im, radix, m, step});
    root_re += (radix - 1) * m;
    root_im += (radix - 1) * m;
    unit_re += radix;
    unit_im += radix;
    std::swap(from_re, to_re);
    std::swap(from_im, to_im);
    n = m;
    step *= radix;
  }
  if (from_re == re) return;
  std::copy(from_re, from_re + length_ * together, re);
  std::copy(from_im, from_im + length_ * together, im);
}

template <class R>
RealLine<R> Transform<R>::real_line() const {
  std::call_once(real_once_, [this] {
    for (int64_t k = 0; k < length_; ++k) {
      const Complex128 root = root_of_unity(k, 2 * length_);
      real_re_.push_back(static_cast<R>(root.re));
      real_im_.push_back(static_cast<R>(root.im));
    }
  });
  return {real_re_.data(), real_im_.data(), length_};
}

template <class R>
std::shared_ptr<const Transform<R>> Transform<R>::of(int64_t length) {
  static std::mutex mutex;
  static std::vector<std::shared_ptr<const Transform>> retained;  // most recently used last
  {
    const std::lock_guard lock(mutex);
    for (auto at = retained.begin(); at != retained.end(); ++at) {
      if ((*at)->length() != length) continue;
      std::rotate(at, at + 1, retained.end());
      return retained.back();
    }
  }
  auto result = std::make_shared<const Transform>(length);
  if (length > kKept) return result;
  const std::lock_guard lock(mutex);
  retained.push_back(result);
  int64_t points = 0;
  for (const auto& stage : retained) points += stage->length();
  while (points > kKept || retained.size() > kKeptCount) {
    points -= retained.front()->length();
    retained.erase(retained.begin());
  }
  return result;
}

template class Transform<float>;
template class Transform<double>;

}  // namespace uh
