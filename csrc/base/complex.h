// complex64 and complex128: two adjacent reals, with the layout of C, BLAS and NumPy.
//
// std::complex is not used because its inline functions have one name in the whole program, while
// loops are compiled once per instruction set: the linker could keep an AVX-512 version for all of
// them. Everything here is forced inline and leaves no such function in the object file. Other
// functions of complex numbers are in backend/cpu/complex_math.h.
#pragma once

#include <cstdint>
#include <type_traits>

namespace uh {

#define UH_INLINE [[gnu::always_inline]] constexpr

template <class R>
struct Complex {
  using Real = R;
  R re{}, im{};

  Complex() = default;
  template <class V>
    requires std::is_arithmetic_v<V>
  UH_INLINE Complex(V real) : re(static_cast<R>(real)) {}
  UH_INLINE Complex(R real, R imag) : re(real), im(imag) {}
  template <class Other>
  UH_INLINE explicit Complex(Complex<Other> z)
      : re(static_cast<R>(z.re)), im(static_cast<R>(z.im)) {}
};

using Complex64 = Complex<float>;
using Complex128 = Complex<double>;

template <class T>
inline constexpr bool is_complex_v = false;
template <class R>
inline constexpr bool is_complex_v<Complex<R>> = true;

template <class R>
UH_INLINE Complex<R> operator+(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
UH_INLINE Complex<R> operator-(Complex<R> a, Complex<R> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
UH_INLINE Complex<R> operator-(Complex<R> z) {
  return {-z.re, -z.im};
}
// Plain formula, as in PyTorch: infinity times a number can give NaN, which C's Annex G would
// correct.
template <class R>
UH_INLINE Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
UH_INLINE Complex<R> operator*(Complex<R> a, R b) {
  return {a.re * b, a.im * b};
}
// Smith's division: scaled by the larger part of the divisor, so that |b|^2 does not overflow.
// Selects instead of branches let loops be vectorised.
template <class R>
UH_INLINE Complex<R> operator/(Complex<R> a, Complex<R> b) {
  const R size_re = b.re < 0 ? -b.re : b.re, size_im = b.im < 0 ? -b.im : b.im;
  const bool turned = size_re < size_im, zero = (size_re == 0) & (size_im == 0);
  const R large = turned ? b.im : b.re, small = turned ? b.re : b.im;
  const R first = turned ? a.im : a.re, second = turned ? a.re : a.im;
  const R ratio = small / large, scale = R(1) / (large + small * ratio), cross = first * ratio;
  const R re = (first + second * ratio) * scale;
  const R im = (turned ? cross - second : second - cross) * scale;
  return {zero ? a.re / size_re : re, zero ? a.im / size_re : im};
}
template <class R>
UH_INLINE bool operator==(Complex<R> a, Complex<R> b) {
  return a.re == b.re && a.im == b.im;
}
template <class R>
UH_INLINE bool operator!=(Complex<R> a, Complex<R> b) {
  return !(a == b);
}
template <class R>
UH_INLINE Complex<R>& operator+=(Complex<R>& a, Complex<R> b) {
  a.re += b.re;
  a.im += b.im;
  return a;
}
template <class R>
UH_INLINE Complex<R> conj(Complex<R> z) {
  return {z.re, -z.im};
}

#undef UH_INLINE

}  // namespace uh
