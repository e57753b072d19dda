#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/fft_loops.h"

#include <type_traits>
#include <utility>

#include "backend/cpu/vectors.h"

namespace uh::UH_ISA {
namespace {

constexpr int kMaxPoints = kMaxFftRadix;

// A complex number, or a register of them.
template <class V>
struct Number {
  V re, im;
};
template <class V>
[[gnu::always_inline]] inline Number<V> operator+(Number<V> a, Number<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
[[gnu::always_inline]] inline Number<V> operator-(Number<V> a, Number<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V, class W>
[[gnu::always_inline]] inline Number<V> operator*(Number<V> a, Number<W> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class V, class R>
[[gnu::always_inline]] inline Number<V> times(Number<V> a, R by) {
  return {a.re * by, a.im * by};
}
// -i z
template <class V>
[[gnu::always_inline]] inline Number<V> turned(Number<V> z) {
  return {z.im, -z.re};
}

// Computes the transform of P points in registers.
template <int P, class R, class V>
[[gnu::always_inline]] inline void butterfly(Number<V> (&z)[P], const R* unit_re = nullptr,
                                             const R* unit_im = nullptr) {
  if constexpr (P == 2) {
    const Number<V> a = z[0], b = z[1];
    z[0] = a + b;
    z[1] = a - b;
  } else if constexpr (P == 3) {
    constexpr R half_root_3 = R(0.86602540378443864676);
    const Number<V> sum = z[1] + z[2], turn = times(turned(z[1] - z[2]), half_root_3);
    const Number<V> middle = z[0] - times(sum, R(0.5));
    z[0] = z[0] + sum;
    z[1] = middle + turn;
    z[2] = middle - turn;
  } else if constexpr (P == 4) {
    const Number<V> even = z[0] + z[2], other = z[0] - z[2], odd = z[1] + z[3],
                    turn = turned(z[1] - z[3]);
    z[0] = even + odd;
    z[1] = other + turn;
    z[2] = even - odd;
    z[3] = other - turn;
  } else if constexpr (P == 5) {
    constexpr R c1 = R(0.30901699437494742410), c2 = R(-0.80901699437494742410),
                s1 = R(0.95105651629515357212), s2 = R(0.58778525229247312917);
    const Number<V> a = z[1] + z[4], b = z[2] + z[3], c = turned(z[1] - z[4]),
                    d = turned(z[2] - z[3]);
    const Number<V> near = z[0] + times(a, c1) + times(b, c2),
                    far = z[0] + times(a, c2) + times(b, c1);
    const Number<V> near_turn = times(c, s1) + times(d, s2), far_turn = times(c, s2) - times(d, s1);
    z[0] = z[0] + a + b;
    z[1] = near + near_turn;
    z[2] = far + far_turn;
    z[3] = far - far_turn;
    z[4] = near - near_turn;
  } else if constexpr (P % 2) {  // in pairs: conjugate roots
    constexpr int kPairs = P / 2;
    Number<V> sum[kPairs], turn[kPairs], near[kPairs], far[kPairs], all = z[0];
#pragma GCC unroll 16
    for (int j = 0; j < kPairs; ++j) {
      sum[j] = z[j + 1] + z[P - 1 - j];
      turn[j] = turned(z[j + 1] - z[P - 1 - j]);
      all = all + sum[j];
    }
#pragma GCC unroll 16
    for (int k = 0; k < kPairs; ++k) {
      near[k] = z[0];
      far[k] = {V{}, V{}};
#pragma GCC unroll 16
      for (int j = 0; j < kPairs; ++j) {
        near[k] = near[k] + times(sum[j], unit_re[(j + 1) * (k + 1) % P]);
        far[k] = far[k] - times(turn[j], unit_im[(j + 1) * (k + 1) % P]);
      }
    }
    z[0] = all;
#pragma GCC unroll 16
    for (int k = 0; k < kPairs; ++k) {
      z[k + 1] = near[k] + far[k];
      z[P - 1 - k] = near[k] - far[k];
    }
  } else {
    static_assert(P == 8);
    constexpr R half_root_2 = R(0.70710678118654752440);
    Number<V> even[4] = {z[0], z[2], z[4], z[6]}, odd[4] = {z[1], z[3], z[5], z[7]};
    butterfly<4, R>(even);
    butterfly<4, R>(odd);
    odd[1] = times(Number<V>{odd[1].re + odd[1].im, odd[1].im - odd[1].re}, half_root_2);
    odd[2] = turned(odd[2]);
    odd[3] = times(Number<V>{odd[3].im - odd[3].re, -odd[3].re - odd[3].im}, half_root_2);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      z[k] = even[k] + odd[k];
      z[k + 4] = even[k] - odd[k];
    }
  }
}

// A register of kCount numbers; for kCount 1 a plain number.
template <class R, int kCount>
struct Several {
  typedef R Type __attribute__((vector_size(kCount * sizeof(R))));
  typedef R Loose __attribute__((vector_size(kCount * sizeof(R)), aligned(alignof(R)), may_alias));
};
template <class R>
struct Several<R, 1> {
  using Type = R;
  using Loose = R;
};
template <int kCount, class R>
[[gnu::always_inline]] inline auto load(const R* from) {
  return static_cast<typename Several<R, kCount>::Type>(
      *reinterpret_cast<const typename Several<R, kCount>::Loose*>(from));
}
template <int kCount, class R, class V>
[[gnu::always_inline]] inline void store(R* to, V value) {
  *reinterpret_cast<typename Several<R, kCount>::Loose*>(to) = value;
}

template <int kFrom, class V, std::size_t... I>
[[gnu::always_inline]] inline V zip(V a, V b, std::index_sequence<I...>) {
  constexpr int n = sizeof...(I);
  return __builtin_shufflevector(a, b, (kFrom + static_cast<int>(I) / 2 + (I % 2) * n)...);
}

// Stores P registers lane by lane: to[lane P + k]. See Note [Transposing by zips].
template <int P, int kCount, class R, class V>
[[gnu::always_inline]] inline void store_turned(R* to, V (&line)[P]) {
  if constexpr (kCount == 1) {
    for (int k = 0; k < P; ++k) to[k] = line[k];
  } else if constexpr (P % 2) {
    R lanes[P][kCount];
#pragma GCC unroll 16
    for (int k = 0; k < P; ++k) store<kCount>(lanes[k], line[k]);
    for (int lane = 0; lane < kCount; ++lane)
      for (int k = 0; k < P; ++k) to[lane * P + k] = lanes[k][lane];
  } else {
    constexpr auto all = std::make_index_sequence<kCount>{};
    V zipped[P];
#pragma GCC unroll 4
    for (int width = 1; width < P; width *= 2) {
#pragma GCC unroll 4
      for (int i = 0; i < P / 2; ++i) {
        zipped[2 * i] = zip<0>(line[i], line[i + P / 2], all);
        zipped[2 * i + 1] = zip<kCount / 2>(line[i], line[i + P / 2], all);
      }
#pragma GCC unroll 16
      for (int i = 0; i < P; ++i) line[i] = zipped[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < P; ++i) store<kCount>(to + i * kCount, line[i]);
  }
}

// The first pass: consecutive butterflies, each with its own roots; kCount at a time.
template <int P, int kCount, class R>
int64_t first(const FftPass<R>& pass, int64_t from) {
  using V = typename Several<R, kCount>::Type;
  const int64_t m = pass.m;
  int64_t q = from;
  for (; q + kCount <= m; q += kCount) {
    Number<V> z[P];
#pragma GCC unroll 16
    for (int r = 0; r < P; ++r)
      z[r] = {load<kCount>(pass.re + r * m + q), load<kCount>(pass.im + r * m + q)};
    butterfly<P, R>(z, pass.unit_re, pass.unit_im);
#pragma GCC unroll 16
    for (int k = 1; k < P; ++k)
      z[k] = z[k] * Number<V>{load<kCount>(pass.root_re + (k - 1) * m + q),
                              load<kCount>(pass.root_im + (k - 1) * m + q)};
    V re[P], im[P];
#pragma GCC unroll 16
    for (int k = 0; k < P; ++k) {
      re[k] = z[k].re;
      im[k] = z[k].im;
    }
    store_turned<P, kCount>(pass.to_re + q * P, re);
    store_turned<P, kCount>(pass.to_im + q * P, im);
  }
  return q;
}

// A later pass: `step` adjacent butterflies have the same roots.
template <int P, int kCount, class R>
void later(const FftPass<R>& pass, int64_t from) {
  using V = typename Several<R, kCount>::Type;
  const int64_t m = pass.m, step = pass.step;
  for (int64_t q = 0; q < m; ++q) {
    const R *re = pass.re + q * step, *im = pass.im + q * step;
    R *to_re = pass.to_re + q * P * step, *to_im = pass.to_im + q * P * step;
    Number<R> root[P];
#pragma GCC unroll 16
    for (int k = 1; k < P; ++k)
      root[k] = {pass.root_re[(k - 1) * m + q], pass.root_im[(k - 1) * m + q]};
    for (int64_t t = from; t + kCount <= step; t += kCount) {
      Number<V> z[P];
#pragma GCC unroll 16
      for (int r = 0; r < P; ++r)
        z[r] = {load<kCount>(re + r * m * step + t), load<kCount>(im + r * m * step + t)};
      butterfly<P, R>(z, pass.unit_re, pass.unit_im);
#pragma GCC unroll 16
      for (int k = 1; k < P; ++k) z[k] = z[k] * root[k];
#pragma GCC unroll 16
      for (int k = 0; k < P; ++k) {
        store<kCount>(to_re + k * step + t, z[k].re);
        store<kCount>(to_im + k * step + t, z[k].im);
      }
    }
  }
}

template <int P, class R>
void single_pass(const FftPass<R>& pass) {
  constexpr int kLanes = kRegisterBytes / static_cast<int>(sizeof(R));
  if (pass.step == 1) {
    int64_t done = first<P, kLanes>(pass, 0);
    if constexpr (kLanes > 4) done = first<P, 4>(pass, done);
    first<P, 1>(pass, done);
    return;
  }
  int64_t done = 0;  // per row: first whole registers, then smaller ones
  const auto rows = [&]<int kCount>() {
    if (pass.step - done < kCount) return;
    later<P, kCount>(pass, done);
    done = pass.step - (pass.step - done) % kCount;
  };
  rows.template operator()<kLanes>();
  if constexpr (kLanes > 8) rows.template operator()<8>();
  if constexpr (kLanes > 4) rows.template operator()<4>();
  rows.template operator()<1>();
}

// Any other radix, which is odd: results k and radix - k in pairs, from the sums and differences of
// the numbers j and radix - j. kFirst: the lanes are butterflies with their own roots, else
// adjacent butterflies with the same. Returns the first lane that is not done.
template <int kCount, bool kFirst, class R>
int64_t any_lanes(const FftPass<R>& pass, int64_t q, int64_t from, int64_t end) {
  using V = typename Several<R, kCount>::Type;
  using N = Number<V>;
  const int64_t radix = pass.radix, m = pass.m, step = pass.step;
  const int pairs = static_cast<int>(radix / 2);
  int64_t t = from;
  for (; t + kCount <= end; t += kCount) {
    const auto at = [&](int64_t r) {
      const int64_t index = (r * m + q) * step + t;
      return N{load<kCount>(pass.re + index), load<kCount>(pass.im + index)};
    };
    const auto store_result = [&](int64_t k, N z) {
      if constexpr (kFirst) {
        if (k) {
          const int64_t root = (k - 1) * m + t;
          z = z * N{load<kCount>(pass.root_re + root), load<kCount>(pass.root_im + root)};
        }
        R re[kCount], im[kCount];
        store<kCount>(re, z.re);
        store<kCount>(im, z.im);
        for (int lane = 0; lane < kCount; ++lane) {
          pass.to_re[(t + lane) * radix + k] = re[lane];
          pass.to_im[(t + lane) * radix + k] = im[lane];
        }
      } else {
        if (k) z = z * Number<R>{pass.root_re[(k - 1) * m + q], pass.root_im[(k - 1) * m + q]};
        store<kCount>(pass.to_re + (q * radix + k) * step + t, z.re);
        store<kCount>(pass.to_im + (q * radix + k) * step + t, z.im);
      }
    };
    N sum[kMaxPoints / 2], turn[kMaxPoints / 2];
    const N origin = at(0);
    N all = origin;
    for (int j = 0; j < pairs; ++j) {
      const N a = at(j + 1), b = at(radix - 1 - j);
      sum[j] = a + b;
      turn[j] = turned(a - b);
      all = all + sum[j];
    }
    store_result(0, all);
    for (int k = 1; k <= pairs; ++k) {
      N near = origin, far = {V{}, V{}};
      int64_t unit = 0;
      for (int j = 0; j < pairs; ++j) {
        unit += k;
        if (unit >= radix) unit -= radix;
        near = near + times(sum[j], pass.unit_re[unit]);
        far = far - times(turn[j], pass.unit_im[unit]);
      }
      store_result(k, near + far);
      store_result(radix - k, near - far);
    }
  }
  return t;
}

// A single butterfly, which is a whole transform: the lanes are its results, in pairs as above.
template <class R>
void single_butterfly(const FftPass<R>& pass) {
  using L = Lanes<R>;
  using V = typename L::Vector;
  const int64_t radix = pass.radix, pairs = radix / 2, row = fft_row(radix);
  const R *re = pass.re, *im = pass.im;
  Number<R> sum[kMaxPoints / 2], turn[kMaxPoints / 2];
  Number<R> all{re[0], im[0]};
  for (int64_t j = 0; j < pairs; ++j) {
    const Number<R> a{re[j + 1], im[j + 1]}, b{re[radix - 1 - j], im[radix - 1 - j]};
    sum[j] = a + b;
    turn[j] = turned(a - b);
    all = all + sum[j];
  }
  pass.to_re[0] = all.re;
  pass.to_im[0] = all.im;
  for (int64_t k = 0; k < pairs; k += L::kCount) {
    Number<V> near{L::all(re[0]), L::all(im[0])}, far{V{}, V{}};
    for (int64_t j = 0; j < pairs; ++j) {
      const V c = L::load(pass.matrix_re + j * row + k), s = L::load(pass.matrix_im + j * row + k);
      near.re += c * sum[j].re;
      near.im += c * sum[j].im;
      far.re -= s * turn[j].re;
      far.im -= s * turn[j].im;
    }
    const Number<V> low = near + far, high = near - far;
    const int64_t count = pairs - k < L::kCount ? pairs - k : L::kCount;
    for (int64_t lane = 0; lane < count; ++lane) {
      pass.to_re[1 + k + lane] = low.re[lane];
      pass.to_im[1 + k + lane] = low.im[lane];
      pass.to_re[radix - 1 - k - lane] = high.re[lane];
      pass.to_im[radix - 1 - k - lane] = high.im[lane];
    }
  }
}

template <class R>
void any(const FftPass<R>& pass) {
  if (pass.matrix_re && pass.step == 1) return single_butterfly(pass);
  constexpr int kLanes = kRegisterBytes / static_cast<int>(sizeof(R));
  if (pass.step == 1) {
    int64_t done = any_lanes<kLanes, true>(pass, 0, 0, pass.m);
    if constexpr (kLanes > 4) done = any_lanes<4, true>(pass, 0, done, pass.m);
    any_lanes<1, true>(pass, 0, done, pass.m);
    return;
  }
  for (int64_t q = 0; q < pass.m; ++q) {
    int64_t done = any_lanes<kLanes, false>(pass, q, 0, pass.step);
    if constexpr (kLanes > 4) done = any_lanes<4, false>(pass, q, done, pass.step);
    any_lanes<1, false>(pass, q, done, pass.step);
  }
}

template <class R>
void run(const FftPass<R>& pass) {
  switch (pass.radix) {
    case 2: return single_pass<2>(pass);
    case 3: return single_pass<3>(pass);
    case 4: return single_pass<4>(pass);
    case 5: return single_pass<5>(pass);
    case 7: return single_pass<7>(pass);
    case 8: return single_pass<8>(pass);
    case 11: return single_pass<11>(pass);
    case 13: return single_pass<13>(pass);
    default: return any(pass);
  }
}

template <class R>
void split(R* re, R* im, const R* from, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    re[k] = from[2 * k];
    im[k] = from[2 * k + 1];
  }
}

template <class R>
void join(R* to, const R* re, const R* im, int64_t n, R scale) {
  for (int64_t k = 0; k < n; ++k) {
    to[2 * k] = re[k] * scale;
    to[2 * k + 1] = im[k] * scale;
  }
}

template <class R, class Step>
void join_apart(R* __restrict to, const R* re, Step re_step, const R* im, Step im_step, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    to[2 * k] = re[k * re_step];
    to[2 * k + 1] = im[k * im_step];
  }
}

template <class R>
void join_any(R* to, const R* re, int64_t re_step, const R* im, int64_t im_step, int64_t n) {
  constexpr std::integral_constant<int64_t, 2> two;
  if (re_step == 1 && im_step == 1) return join(to, re, im, n, R(1));
  if (re_step == 2 && im_step == 2) return join_apart(to, re, two, im, two, n);
  join_apart(to, re, re_step, im, im_step, n);
}

template <class R>
void to_spectrum(const RealLine<R>& line, R* __restrict spectrum, const R* __restrict re,
                 const R* __restrict im, R scale) {
  const int64_t half = line.half;
  const R* __restrict root_re = line.root_re;
  const R* __restrict root_im = line.root_im;
  const R by = scale / 2;
  spectrum[0] = (re[0] + im[0]) * scale;
  spectrum[2 * half] = (re[0] - im[0]) * scale;
  spectrum[1] = spectrum[2 * half + 1] = 0;
  for (int64_t k = 1; k < half; ++k) {
    const R sum_re = re[k] + re[half - k], sum_im = im[k] - im[half - k];
    const R gap_re = re[k] - re[half - k], gap_im = im[k] + im[half - k];
    spectrum[2 * k] = (sum_re + (root_re[k] * gap_im + root_im[k] * gap_re)) * by;
    spectrum[2 * k + 1] = (sum_im - (root_re[k] * gap_re - root_im[k] * gap_im)) * by;
  }
}

template <class R>
void mirror(R* spectrum, int64_t half, int64_t n) {
  const R* __restrict from = spectrum + 2 * (n - half - 1);  // backward from here
  R* __restrict to = spectrum + 2 * (half + 1);
  for (int64_t k = 0; k < n - half - 1; ++k) {
    to[2 * k] = from[-2 * k];
    to[2 * k + 1] = -from[-2 * k + 1];
  }
}

template <class R>
void from_spectrum(const RealLine<R>& line, R* __restrict re, R* __restrict im,
                   const R* __restrict spectrum_re, const R* __restrict spectrum_im) {
  const int64_t half = line.half;
  const R* __restrict root_re = line.root_re;
  const R* __restrict root_im = line.root_im;
  re[0] = spectrum_re[0] + spectrum_re[half];
  im[0] = spectrum_re[0] - spectrum_re[half];
  for (int64_t k = 1; k < half; ++k) {
    const R sum_re = spectrum_re[k] + spectrum_re[half - k],
            sum_im = spectrum_im[k] - spectrum_im[half - k],
            gap_re = spectrum_re[k] - spectrum_re[half - k],
            gap_im = spectrum_im[k] + spectrum_im[half - k];
    re[k] = sum_re - (root_re[k] * gap_im - root_im[k] * gap_re);
    im[k] = sum_im + (root_re[k] * gap_re + root_im[k] * gap_im);
  }
}

// Calls f(together), which is a constant if it is a register's lanes, as in most calls.
template <class R, class F>
void with_lanes(int64_t together, const F& f) {
  constexpr int64_t kMaxLines = 64 / static_cast<int64_t>(sizeof(R));
  if (together == kMaxLines) return f(std::integral_constant<int64_t, kMaxLines>{});
  if (together == 1) return f(std::integral_constant<int64_t, 1>{});
  f(together);
}

template <class R>
void gather(double* __restrict to, const R* __restrict from, const int64_t* order, int64_t n,
            int64_t together) {
  with_lanes<R>(together, [=](auto lanes) {
    for (int64_t q = 0; q < n; ++q)
      for (int64_t i = 0; i < lanes; ++i)
        to[q * lanes + i] = static_cast<double>(from[order[q] * lanes + i]);
  });
}

template <class R>
void scatter(R* __restrict to, const double* __restrict from, const int64_t* order, int64_t n,
             int64_t together) {
  with_lanes<R>(together, [=](auto lanes) {
    for (int64_t q = 0; q < n; ++q)
      for (int64_t i = 0; i < lanes; ++i)
        to[order[q] * lanes + i] = static_cast<R>(from[q * lanes + i]);
  });
}

template <class R>
void multiply(double* __restrict re, double* __restrict im, const double* __restrict factors,
              int64_t n, int64_t together) {
  with_lanes<R>(together, [=](auto lanes) {
    for (int64_t q = 0; q < n; ++q) {
      const double by_re = factors[2 * q], by_im = factors[2 * q + 1];
      for (int64_t i = 0; i < lanes; ++i) {
        const double a = re[q * lanes + i], b = im[q * lanes + i];
        re[q * lanes + i] = a * by_re - b * by_im;
        im[q * lanes + i] = a * by_im + b * by_re;
      }
    }
  });
}

template <class R>
FftTable<R> table() {
  return {run<R>,     split<R>,    join<R>,        join_any<R>, gather<R>,
          scatter<R>, multiply<R>, to_spectrum<R>, mirror<R>,   from_spectrum<R>};
}

}  // namespace

const FftLoops& fft_loops() {
  static const FftLoops loops{table<float>(), table<double>()};
  return loops;
}

}  // namespace uh::UH_ISA
